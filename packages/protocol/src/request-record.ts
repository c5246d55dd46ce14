/** The form of a request as it crosses a relay folder or a stream: shim-wire says what it means, this checks it. */
import { z } from 'zod'
import { recordVersion, shimIdForm } from './shim-wire.ts'

const id = z.string().regex(shimIdForm)

export const requestRecord = z.object({
  v: z.literal(recordVersion),
  release: z.string(),
  shim: id,
  call: id,
  at: z.number(),
  method: z.enum(['POST', 'GET']),
  path: z.string().regex(/^\/mcp(?:\/[a-z0-9-]{1,32})?$/),
  // Nothing but what MCP says in headers: no bearer, no length, no name of a host.
  headers: z
    .record(
      z.string().regex(/^mcp-[a-z0-9-]{1,120}$/i),
      z.string().regex(/^[\t\x20-\x7e]{0,4096}$/),
    )
    .refine((headers) => Object.keys(headers).length <= 64),
  message: z.string(),
})
