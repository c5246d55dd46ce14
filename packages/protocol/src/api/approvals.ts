/** Approvals: what a person decides about one execution. */
import { z } from 'zod'
import { callerStates, execution } from './executions.ts'
import { digest, id, time } from './parts.ts'

export const approvalStates = [
  'pending',
  'approved',
  'consumed',
  'denied',
  'expired',
  'cancelled',
] as const

export const decision = z.object({
  by: z.string().describe('a user name'),
  decision: z.enum(['approve', 'deny']),
  note: z.string().nullable(),
  at: time,
})

export const approval = z.object({
  id: id('apr'),
  state: z.enum(approvalStates),
  executionId: id('exe'),
  sessionId: id('ses'),
  sessionLabel: z.string().nullable(),
  requester: z.string().describe('name of the session owner'),
  connection: z.string(),
  tool: z.string(),
  callId: z.string(),
  argumentsDigest: digest,
  bindingHash: digest,
  approvers: z.string().describe('owner, two, or role:R'),
  excludesRequester: z.boolean(),
  decisions: z.array(decision),
  requestedAt: time,
  expiresAt: time,
  closedAt: time.nullable().describe('when it was consumed, denied, cancelled or expired'),
  caller: z.enum(callerStates).nullable().describe('detached or held_back: the caller has left'),
  mayApprove: z.boolean().describe('whoever asks may approve it now'),
  mayDeny: z.boolean(),
})

export const approvalDetail = approval.extend({
  arguments: z
    .string()
    .nullable()
    .describe('exactly what would be sent, canonical JSON; null where it is not kept any more'),
  fixed: z.array(z.string()).describe('names of arguments that the grant has set'),
  description: z.string().nullable().describe('of the tool, as it was reviewed'),
  notSeparated: z.boolean().describe('the sandbox is not separated from what the call reaches'),
  directAccess: z
    .enum(['denied', 'not_denied'])
    .describe('not_denied: nobody keeps the guest from reaching the server by itself'),
  identical: z.array(execution).describe('identical calls of the last day, newest first'),
  unknown: z.array(execution).describe('calls of this tool whose outcome nobody has resolved'),
})

export const approvalDecide = z
  .strictObject({ note: z.string().min(1).max(2000).optional() })
  .default({})
