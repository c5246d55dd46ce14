/** Executions: the rows of the journal. */
import { z } from 'zod'
import { accesses } from './catalogs.ts'
import { digest, id, json, time } from './parts.ts'
import { modes } from './profiles.ts'

export const executionStates = [
  'refused',
  'awaiting_approval',
  'approved',
  'awaiting_answer',
  'dispatching',
  'succeeded',
  'tool_error',
  'not_sent',
  'lost',
  'unknown',
  'resolved',
] as const

/** States without a way out. */
export const finalStates = [
  'refused',
  'succeeded',
  'tool_error',
  'not_sent',
  'lost',
  'resolved',
] as const satisfies readonly (typeof executionStates)[number][]

export const execution = z.object({
  id: id('exe'),
  state: z.enum(executionStates),
  sessionId: id('ses'),
  connection: z.string(),
  tool: z.string(),
  callId: z.string(),
  mode: z.enum(modes).nullable(),
  access: z.enum(accesses).nullable(),
  code: z.string().nullable(),
  field: z.string().nullable(),
  argumentsDigest: digest.nullable(),
  bindingHash: digest.nullable(),
  intentId: z.string().nullable(),
  resultDigest: digest.nullable(),
  resultBytes: z.int().nullable(),
  arrivedAt: time,
  barrierAt: time.nullable(),
  notAfter: time.nullable(),
  finishedAt: time.nullable(),
  tookMs: z.number().nullable(),
  notes: z
    .record(z.string(), json)
    .describe('requests of the server that were refused, violations, late evidence'),
})
