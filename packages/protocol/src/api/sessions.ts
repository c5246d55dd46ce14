/** Sessions. */
import { z } from 'zod'
import { digest, id, time } from './parts.ts'
import { isolationClasses, modes } from './profiles.ts'

export const sessionStates = ['created', 'verifying', 'open', 'closing', 'ended'] as const

const unavailable = z.object({
  connection: z.string(),
  tool: z.string().nullable(),
  code: z.string(),
  reason: z.string(),
})

export const session = z.object({
  id: id('ses'),
  state: z.enum(sessionStates),
  profile: z.string(),
  owner: z.string(),
  isolation: z.enum(isolationClasses),
  label: z.string().nullable(),
  createdAt: time,
  expiresAt: time,
  endedAt: time.nullable(),
  endReason: z.string().nullable(),
  endpoint: z.string(),
  connections: z.array(z.object({ name: z.string(), endpoint: z.string(), tools: z.int() })),
  tools: z.array(
    z.object({
      name: z.string(),
      connection: z.string(),
      tool: z.string(),
      mode: z.enum(modes),
      bindingHash: digest,
      state: z.string(),
    }),
  ),
  unavailable: z.array(unavailable),
})

export const sessionCreate = z.strictObject({
  profile: z.string(),
  isolation: z.enum(isolationClasses).default('external'),
  label: z.string().max(200).optional(),
  owner: z.string().optional().describe('a user name; administrators only, default the caller'),
  harness: z.string().optional(),
})

export const sessionCreated = z.object({
  id: id('ses'),
  state: z.enum(sessionStates),
  endpoint: z.string(),
  token: z.string().describe('shown once'),
  connections: z.array(z.object({ name: z.string(), endpoint: z.string(), tools: z.int() })),
  unavailable: z.array(unavailable),
})
