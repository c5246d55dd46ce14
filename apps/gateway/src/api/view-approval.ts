import {
  type Actor,
  type ApprovalContext,
  hasApproved,
  isOpen,
  mayApprove,
  maySeeApproval,
  type Reads,
  type SeenApproval,
} from '@sallyport/core'
import type { Answer, SessionId } from '@sallyport/protocol'
import { userNames, viewExecutions } from './view-execution.ts'
import { viewTime, viewTimeOrNull } from './view-time.ts'

type View = Answer<'approval.list'>['items'][number]

export async function viewApprovals(
  reads: Reads,
  actor: Actor,
  seen: readonly SeenApproval[],
  now: number,
): Promise<View[]> {
  const people = seen.flatMap(({ approval: { ownerId, decisions } }) => [
    ownerId,
    ...decisions.map(({ by }) => by),
  ])
  const [names, labels] = await Promise.all([userNames(reads, people), sessionLabels(reads, seen)])
  const nameOf = (id: (typeof people)[number]): string => names.get(id) ?? id
  return seen.map((one): View => {
    const { approval, execution, isPersonal } = one
    const { id, state, executionId, sessionId, callId, argumentsDigest, bindingHash } = approval
    return {
      ...{ id, state, executionId, sessionId, callId, argumentsDigest, bindingHash },
      sessionLabel: labels.get(sessionId) ?? null,
      requester: nameOf(approval.ownerId),
      connection: execution.connectionName,
      tool: execution.tool,
      approvers: isPersonal ? 'owner' : approval.approvers,
      excludesRequester: approval.excludesRequester && !isPersonal,
      decisions: approval.decisions.map(({ by, decision, note, at }) => ({
        by: nameOf(by),
        decision,
        note,
        at: viewTime(at),
      })),
      requestedAt: viewTime(approval.requestedAt),
      expiresAt: viewTime(approval.expiresAt),
      closedAt: viewTimeOrNull(approval.closedAt),
      caller: execution.caller,
      ...mayDecide(actor, one, now),
    }
  })
}

/** What would happen now; what happens is decided when it is done. */
function mayDecide(
  actor: Actor,
  seen: SeenApproval,
  now: number,
): Pick<View, 'mayApprove' | 'mayDeny'> {
  const { approval, execution } = seen
  const waits = isOpen(approval, now) && execution.state === 'awaiting_approval'
  return {
    mayApprove: waits && mayApprove(actor, seen) && !hasApproved(approval, actor.userId),
    mayDeny: waits && maySeeApproval(actor, seen),
  }
}

async function sessionLabels(
  reads: Reads,
  seen: readonly SeenApproval[],
): Promise<ReadonlyMap<SessionId, string | null>> {
  const ids = [...new Set(seen.map(({ approval }) => approval.sessionId))]
  const sessions = await Promise.all(ids.map((id) => reads.sessions.get(id)))
  return new Map(sessions.flatMap((one) => (one ? [[one.id, one.label] as const] : [])))
}

export async function viewContext(
  reads: Reads,
  context: ApprovalContext,
): Promise<Omit<Answer<'approval.show'>, keyof View>> {
  const { argumentsText, fixed, description, isSeparated, isDenied, identical, unknown } = context
  return {
    arguments: argumentsText,
    fixed: [...fixed],
    description,
    notSeparated: !isSeparated,
    directAccess: isDenied ? 'denied' : 'not_denied',
    identical: await viewExecutions(reads, identical),
    unknown: await viewExecutions(reads, unknown),
  }
}
