/** The journal as auditors read it. */
import { z } from 'zod'
import { executionStates } from './executions.ts'
import { id } from './parts.ts'

/** Where a part begins, as an answer told it. */
export const auditNext = z.string().regex(/^\d{1,16}\.\d{1,16}-\d{1,16}\.\d{1,16}-\d{1,16}$/)
export const auditResume = z.string().regex(/^\d{1,16}\.\d{1,16}$/)

export const auditPart = z.object({
  lines: z
    .array(z.string())
    .describe('JSON texts, in order; together with those of the next parts an export'),
  next: auditNext.nullable().describe('null after the last part'),
  resume: auditResume.nullable().describe('after the last part: where a later export goes on'),
})

/** What a row says, in the words of the journal. */
export const auditedExecution = z.object({
  id: id('exe'),
  state: z.enum(executionStates),
  sequence: z.int(),
  sessionId: z.string(),
  ownerId: z.string(),
  callId: z.string(),
  connectionId: z.string().nullable(),
  connectionName: z.string(),
  tool: z.string(),
  mode: z.string().nullable(),
  bindingHash: z.string().nullable(),
  argumentsDigest: z.string().nullable(),
  approvalId: z.string().nullable(),
  intentId: z.string().nullable(),
  intentDigest: z.string().nullable(),
  gatewayInstance: z.string(),
  code: z.string().nullable(),
  resultDigest: z.string().nullable(),
  resultBytes: z.int().nullable(),
})
