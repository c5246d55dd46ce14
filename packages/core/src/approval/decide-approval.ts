import { isId, SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import type { Execution } from '../execution/execution.ts'
import type { Settlement } from '../execution/execution-store.ts'
import { settledEvent } from '../journal/events.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { toldEvent } from '../webhook/told-event.ts'
import { type Approval, type Decision, useWithinMs } from './approval.ts'
import { isPersonal } from './is-personal.ts'
import { approvalsNeeded, hasApproved, isOpen, mayApprove, maySeeApproval } from './may-decide.ts'
import type { SeenApproval } from './see-approvals.ts'

export interface DecisionInput {
  readonly decision: Decision['decision']
  readonly note?: string | null | undefined
}

/**
 * One person's decision, judged by the role of this moment. Approval, execution and journal move together, and whoever
 * waits is told. One deny is enough; of two approvals the first only counts. Throws `not_found` for what the actor may
 * not see, `not_allowed` for the excluded requester, `approval_settled` for what is decided, over or gone, `conflict`
 * when the same person approves twice.
 */
export function decideApproval(
  { journal }: Pick<Deps, 'journal'>,
  actor: Actor,
  id: string,
  { decision, note }: DecisionInput,
): Promise<Approval> {
  return journal.transact(async (tx, page) => {
    const confirmed = await confirmActor(tx, actor)
    const held = await hold(tx, confirmed, id)
    const now = await tx.now()
    check(confirmed, held, decision, now)
    const added: Decision = { by: confirmed.userId, decision, note: note ?? null, at: now }
    const decided = decide(held, added)
    await tx.approvals.update([decided])
    if (decided.state !== 'pending') await settle(tx, page, decided, held.execution)
    await tx.announce([decided.executionId])
    return decided
  })
}

async function hold(tx: Tx, actor: Actor, id: string): Promise<SeenApproval> {
  const approval = isId('approval', id) ? (await tx.approvals.lock([id])).get(id) : undefined
  if (!approval) throw new SallyportError('not_found', { field: 'id' })
  const { executionId } = approval
  const execution = (await tx.executions.lock([executionId])).get(executionId)
  if (!execution) throw new SallyportError('not_found', { field: 'id' })
  const held = { approval, execution, isPersonal: await isPersonal(tx, execution) }
  if (!maySeeApproval(actor, held)) throw new SallyportError('not_found', { field: 'id' })
  return held
}

function check(actor: Actor, held: SeenApproval, decision: string, now: number): void {
  const isApproving = decision === 'approve'
  if (isApproving && !mayApprove(actor, held)) throw new SallyportError('not_allowed')
  if (!isOpen(held.approval, now) || held.execution.state !== 'awaiting_approval')
    throw new SallyportError('approval_settled')
  if (isApproving && hasApproved(held.approval, actor.userId)) throw new SallyportError('conflict')
}

function decide(held: SeenApproval, added: Decision): Approval {
  const decisions = [...held.approval.decisions, added]
  const approval: Approval = { ...held.approval, decisions }
  if (added.decision === 'deny') return { ...approval, state: 'denied', closedAt: added.at }
  if (decisions.length < approvalsNeeded(held)) return approval
  const expiresAt = goesOn(held.execution) ? added.at + useWithinMs : approval.expiresAt
  return { ...approval, state: 'approved', expiresAt }
}

/** Its caller is there, or it goes on by itself. Otherwise it waits for whoever takes it over, as long as it may. */
function goesOn({ caller, isModern }: Execution): boolean {
  return caller === 'attached' || (caller === 'detached' && !isModern)
}

async function settle(
  tx: Tx,
  page: PageDraft,
  approval: Approval,
  execution: Execution,
): Promise<void> {
  const now = await tx.now()
  const isDenied = approval.state === 'denied'
  const settlement: Settlement = {
    id: approval.executionId,
    from: ['awaiting_approval'],
    state: isDenied ? 'refused' : 'approved',
    ...(isDenied ? { code: 'approval_denied' } : {}),
    finishedAt: isDenied ? now : null,
    at: now,
    notes: { decisions: approval.decisions, approval: approval.id },
  }
  const [sequence] = await tx.executions.settle([settlement])
  if (sequence === undefined) throw new SallyportError('approval_settled')
  page.note(settledEvent(settlement, sequence))
  page.tell(toldEvent(isDenied ? 'approval.denied' : 'approval.approved', now, execution))
}
