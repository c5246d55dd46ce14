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

/** Of a write: where its caller is. `held_back`: it took its request back by leaving, and may still be taken over. */
export const callerStates = ['attached', 'detached', 'held_back', 'collected'] as const

export const resolutionOutcomes = ['applied', 'not_applied', 'abandoned'] as const

/** What a person found out about an unknown outcome. */
export const resolution = z.object({
  outcome: z.enum(resolutionOutcomes),
  by: z.string(),
  note: z.string(),
  at: time,
  allowRetry: z.boolean().describe('identical calls are not answered with it'),
})

export const executionResolve = z.strictObject({
  outcome: z.enum(resolutionOutcomes),
  note: z.string().min(1).max(2000),
  allowRetry: z.boolean().default(false),
})

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
  approvalId: id('apr').nullable(),
  intentId: z.string().nullable(),
  resultDigest: digest.nullable(),
  resultBytes: z.int().nullable(),
  arrivedAt: time,
  barrierAt: time.nullable(),
  notAfter: time.nullable(),
  finishedAt: time.nullable(),
  tookMs: z.number().nullable(),
  caller: z
    .enum(callerStates)
    .nullable()
    .describe('of a write whose outcome somebody may still take'),
  collectedAt: time.nullable(),
  resolution: resolution.nullable(),
  notes: z
    .record(z.string(), json)
    .describe('requests of the server that were refused, violations, late evidence'),
})

export const executionDetail = execution.extend({
  arguments: z
    .string()
    .nullable()
    .describe('effective arguments as canonical JSON; null where they are not kept or not shown'),
  result: z.string().nullable().describe('as the upstream sent it; null likewise'),
})
