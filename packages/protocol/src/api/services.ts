/** Services: what administrators offer to whoever adds a connection. */
import { z } from 'zod'
import { scopeWanted, sealedClient } from './connections.ts'
import { id, list, time } from './parts.ts'

/** How a connection to it gets its credential; `none`: as is given with the connection. */
export const serviceMethods = ['none', 'oauth', 'client_credentials'] as const

export const service = z.object({
  id: id('svc'),
  state: z.literal('offered'),
  name: z.string(),
  resource: z.string().describe('its URL, which everybody who may add connections sees'),
  method: z.enum(serviceMethods),
  scopeWanted: z.array(z.string()),
  hasClient: z.boolean().describe('with a client that was registered by a person'),
  createdAt: time,
})

export const services = list(service).extend({
  problem: z
    .object({ code: z.string(), text: z.string() })
    .nullable()
    .describe('why nothing is offered now'),
})

export const serviceCreate = z.strictObject({
  name: z.string(),
  resource: z.string().max(4_096),
  method: z.enum(serviceMethods).default('oauth'),
  scopeWanted,
  client: sealedClient.optional().describe('sealed for scope org and the URL of the service'),
})
