/** Webhooks: where it is told that somebody has something to decide. */
import { z } from 'zod'
import { plaintext } from './connections.ts'
import { id, time } from './parts.ts'

/** What is told. Never arguments, results or secrets. */
export const webhookEvents = [
  'approval.requested',
  'approval.approved',
  'approval.denied',
  'approval.expired',
  'approval.cancelled',
  'execution.unknown',
  'execution.resolved',
  'connection.health',
] as const

export const webhook = z.object({
  id: id('whk'),
  state: z.enum(['active', 'failing', 'off']),
  name: z.string(),
  host: z.string().describe('scheme, host and port; the rest of the address is a secret'),
  events: z.array(z.enum(webhookEvents)),
  createdAt: time,
  lastDeliveredAt: time.nullable(),
  lastFailure: z.object({ code: z.string(), at: time }).nullable(),
  goneAt: time.nullable().describe('when its receiver answered 410: it is off since then'),
  waiting: z.int().describe('deliveries that are still tried'),
})

export const webhookCreated = webhook.extend({ plaintext })

export const webhookCreate = z.strictObject({
  name: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/),
  id: id('whk').optional().describe('chosen by whoever seals, since the seal names it'),
  seal: z
    .string()
    .max(16_384)
    .optional()
    .describe('JWE of address and signing secret, to the vault key'),
  clear: z
    .object({ scheme: z.enum(['https', 'http']), host: z.string(), port: z.int() })
    .optional(),
  allowPlaintext: z.literal(true).optional(),
  url: z.string().optional().describe('with allowPlaintext only'),
  secret: z.string().optional().describe('with allowPlaintext only'),
  events: z
    .array(z.enum(webhookEvents))
    .min(1)
    .default([...webhookEvents]),
})
