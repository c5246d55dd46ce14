/** What people see of approvals before they decide. */
import { isId, SallyportError, type SessionId } from '@sallyport/protocol'
import type { BodySealer } from '../body/body.ts'
import { openBody } from '../body/open-body.ts'
import { isKept } from '../deny/session-denials.ts'
import type { Execution } from '../execution/execution.ts'
import type { Reads } from '../store.ts'
import type { Actor } from '../user/user.ts'
import type { Approval, ApprovalState } from './approval.ts'
import { isPersonal } from './is-personal.ts'
import { entitling, maySeeApproval } from './may-decide.ts'

export interface SeenApproval {
  readonly approval: Approval
  readonly execution: Execution
  readonly isPersonal: boolean
}

/** What there is to know beside the approval itself. */
export interface ApprovalContext {
  /** Effective arguments as canonical JSON; null where they are not kept any more. */
  readonly argumentsText: string | null
  /** Names of the arguments that the grant has set. */
  readonly fixed: readonly string[]
  /** Of the tool, as it was reviewed. */
  readonly description: string | null
  /** Something stands between the guest and what the call reaches. */
  readonly isSeparated: boolean
  /** Somebody keeps the guest from reaching by itself what is in the deny set. */
  readonly isDenied: boolean
  /** Identical ones of the last day, newest first. */
  readonly identical: readonly Execution[]
  /** Calls of this tool whose outcome nobody has resolved, newest first. */
  readonly unknown: readonly Execution[]
}

const dayMs = 86_400_000
const shownAtMost = 20

/** Those that the actor may see, newest first. */
export async function listApprovals(
  reads: Reads,
  { userId, role }: Actor,
  filter: {
    readonly state?: ApprovalState | undefined
    readonly sessionId?: SessionId | undefined
    readonly limit: number
  },
): Promise<SeenApproval[]> {
  const { state, sessionId, limit } = filter
  const approvals = await reads.approvals.list({
    visibleTo: { ownerId: userId, approvers: entitling(role) },
    ...(state === undefined ? {} : { state }),
    ...(sessionId === undefined ? {} : { sessionId }),
    limit,
  })
  const seen = await beside(reads, approvals)
  return seen.filter((one) => maySeeApproval({ userId, role }, one))
}

/** Throws `not_found`, also for what the actor may not see. */
export async function findApproval(reads: Reads, actor: Actor, id: string): Promise<SeenApproval> {
  const approval = isId('approval', id) ? await reads.approvals.get(id) : undefined
  const [seen] = approval ? await beside(reads, [approval]) : []
  if (!seen || !maySeeApproval(actor, seen)) throw new SallyportError('not_found', { field: 'id' })
  return seen
}

/** Their executions; rows of the journal are never removed. */
async function beside(reads: Reads, approvals: readonly Approval[]): Promise<SeenApproval[]> {
  const executions = await reads.executions.getMany(approvals.map(({ executionId }) => executionId))
  const byId = new Map(executions.map((execution) => [execution.id, execution]))
  const seen: SeenApproval[] = []
  for (const approval of approvals) {
    const execution = byId.get(approval.executionId)
    if (execution)
      seen.push({ approval, execution, isPersonal: await isPersonal(reads, execution) })
  }
  return seen
}

/** For somebody who may see it. Throws `row_unreadable` for arguments that do not open: nobody decides on others. */
export async function approvalContext(
  reads: Reads,
  sealer: BodySealer,
  { execution }: SeenApproval,
  now: number,
): Promise<ApprovalContext> {
  const [argumentsText, fixed, description, session, identical, unknown] = await Promise.all([
    openBody(reads, sealer, execution.id, 'arguments'),
    fixedNames(reads, execution),
    descriptionOf(reads, execution),
    reads.sessions.get(execution.sessionId),
    identicalTo(reads, execution, now),
    unknownOf(reads, execution),
  ])
  const isSeparated = session !== undefined && session.isolation !== 'none'
  const isDenied = await isKept(reads, execution.sessionId)
  return { argumentsText, fixed, description, isSeparated, isDenied, identical, unknown }
}

async function fixedNames(reads: Reads, { grantId }: Execution): Promise<string[]> {
  const grant = grantId === null ? undefined : await reads.grants.get(grantId)
  return Object.keys(grant?.limits.fixed ?? {})
}

async function descriptionOf(reads: Reads, execution: Execution): Promise<string | null> {
  const { sessionId, bindingId, tool } = execution
  const bindings = await reads.bindings.ofSession(sessionId)
  const binding = bindings.find(({ id }) => id === bindingId)
  const tools = binding ? await reads.catalogs.tools(binding.catalogId) : []
  return tools.find(({ name }) => name === tool)?.description ?? null
}

async function identicalTo(
  reads: Reads,
  { id, writeKey }: Execution,
  now: number,
): Promise<Execution[]> {
  if (writeKey === null) return []
  const rows = await reads.executions.identical(writeKey, now - dayMs, shownAtMost + 1)
  return rows.filter((row) => row.id !== id).slice(0, shownAtMost)
}

async function unknownOf(reads: Reads, execution: Execution): Promise<Execution[]> {
  const { ownerId, connectionId, tool } = execution
  if (connectionId === null) return []
  return reads.executions.unknownOf({ ownerId, connectionId, tool }, shownAtMost)
}
