/**
 * The barrier: the statements of one transaction that decide, for a group of calls, which of them become `dispatching`,
 * which wait, and which are refused. Nothing reaches an upstream without having passed here; approvals are consumed here
 * and nowhere else.
 */
import type { SessionId } from '@sallyport/protocol'
import { type Approval, useWithinMs } from '../approval/approval.ts'
import { cancelWaiting } from '../approval/cancel-waiting.ts'
import type { Execution } from '../execution/execution.ts'
import { dispatchedEvent, recordedEvent } from '../journal/events.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { toldEvent } from '../webhook/told-event.ts'
import { decideArrival, refusedRow } from './decide-arrival.ts'
import { decideContinuation } from './decide-continuation.ts'
import { judgeSession } from './judge.ts'
import type { Order } from './ports.ts'
import { type BarrierDeps, type Entry, Scene } from './scene.ts'
import { followersOf } from './twins.ts'
import type { BarrierDecision, Plan } from './verdict-of-barrier.ts'

const busy: Plan = { decision: { kind: 'busy' } }

/** Decides and records. `orders` are those of the passed decisions, in the order of their events. */
export async function passBarrier(
  tx: Tx,
  page: PageDraft,
  entries: readonly Entry[],
  deps: BarrierDeps,
): Promise<{ decisions: BarrierDecision[]; orders: Order[] }> {
  const keys = [...new Set(entries.flatMap(({ row }) => row.writeKey ?? []))]
  const held = keys.length > 0 ? await tx.executions.holdWriteKeys(keys, 'try') : new Set<string>()
  const isFree = ({ row }: Entry): boolean => row.writeKey === null || held.has(row.writeKey)
  const scene = await Scene.look(tx, entries.filter(isFree), deps)
  const plans: Plan[] = []
  for (const entry of entries) plans.push(isFree(entry) ? await decide(entry, scene) : busy)
  const done = await carryOut(tx, page, plans, { entries, scene })
  await touchSessions(tx, scene, entries)
  return { decisions: done.map(({ decision }) => decision), orders: ordersOf(done) }
}

/** In the order in which the page tells of them: the batch is named by it. First come those that were inserted. */
function ordersOf(done: readonly Plan[]): Order[] {
  const passed = done.filter(({ decision }) => decision.kind === 'passed')
  const arrived = passed.filter(({ dispatch }) => dispatch === undefined)
  const waited = passed.filter(({ dispatch }) => dispatch !== undefined)
  return [...arrived, ...waited].flatMap(({ order }) => order ?? [])
}

function decide(entry: Entry, scene: Scene): Promise<Plan> {
  return entry.kind === 'arrival' ? decideArrival(entry, scene) : decideContinuation(entry, scene)
}

interface Context {
  readonly entries: readonly Entry[]
  readonly scene: Scene
}

/** Writes what was decided; the plans as they came out. */
async function carryOut(
  tx: Tx,
  page: PageDraft,
  plans: readonly Plan[],
  context: Context,
): Promise<Plan[]> {
  const attached = await attach(tx, plans, context)
  const refused = await refuseWaiting(tx, page, attached)
  const inserted = await insert(tx, page, refused, context)
  return dispatch(tx, page, inserted, context)
}

/** Under the lock of the key only a caller's own transport can have moved it; then it is all decided anew. */
async function attach(
  tx: Tx,
  plans: readonly Plan[],
  { entries, scene }: Context,
): Promise<Plan[]> {
  const attaching = plans.flatMap((plan, at) => (plan.attach ? [{ row: plan.attach, at }] : []))
  if (attaching.length === 0) return [...plans]
  await giveTimeToUse(
    tx,
    attaching.map(({ row }) => row),
  )
  const moved = await tx.executions.moveCallers(
    attaching.map(({ row, at }) => ({
      id: row.id,
      from: [row.caller ?? 'detached'],
      ...(row.callerInstance ? { of: row.callerInstance } : {}),
      to: 'attached',
      by: scene.deps.gateway,
      isModern: entries[at]?.row.isModern ?? row.isModern,
    })),
  )
  for (const [nth, { row, at }] of attaching.entries())
    if (moved[nth] && isTaken(plans[at])) await noteFollowers(tx, row, scene.twinsOf(row))
  const failed = new Set(attaching.flatMap(({ at }, nth) => (moved[nth] ? [] : [at])))
  return plans.map((plan, at) => (failed.has(at) && isTaken(plan) ? busy : plan))
}

/** The row whose caller is attached was another's. */
function isTaken(plan: Plan | undefined): boolean {
  return plan?.decision.kind === 'taken_over' || plan?.decision.kind === 'answered'
}

/** Another takes over a row that was left. */
export async function noteFollowers(
  tx: Tx,
  row: Execution,
  twins: readonly Execution[],
): Promise<void> {
  const followers = followersOf(row, twins)
  if (followers.length > 0) await tx.executions.note(row.id, { followers })
}

/** From now on somebody is there who uses it. */
export async function giveTimeToUse(tx: Tx, rows: readonly Execution[]): Promise<void> {
  const ids = rows.flatMap((row) => (row.state === 'approved' && row.approvalId) || [])
  if (ids.length === 0) return
  const now = await tx.now()
  const approvals = await tx.approvals.lock(ids)
  await tx.approvals.update(
    [...approvals.values()].flatMap((approval) =>
      approval.state === 'approved' && now < approval.expiresAt
        ? [{ ...approval, expiresAt: now + useWithinMs }]
        : [],
    ),
  )
}

async function refuseWaiting(tx: Tx, page: PageDraft, plans: readonly Plan[]): Promise<Plan[]> {
  const result: Plan[] = []
  for (const plan of plans) {
    const { refuse } = plan
    if (!refuse?.code) {
      result.push(plan)
      continue
    }
    const [gone] = await cancelWaiting(tx, page, [refuse], {
      code: refuse.code,
      notes: refuse.notes,
    })
    result.push(gone ? plan : busy)
  }
  return result
}

async function insert(
  tx: Tx,
  page: PageDraft,
  plans: readonly Plan[],
  context: Context,
): Promise<Plan[]> {
  const { scene } = context
  const rows = plans.flatMap(({ insert: row }) => (row ? [row] : []))
  if (rows.length === 0) return [...plans]
  const results = await tx.executions.insert(rows)
  const outcome = new Map(rows.map((row, at) => [row, results[at]]))
  const settled: Plan[] = []
  for (const plan of plans)
    settled.push(
      plan.insert ? await afterInsert(tx, plan, outcome.get(plan.insert), context) : plan,
    )
  const recorded = settled.flatMap(({ insert: row, asks }, at) => (row ? [{ row, asks, at }] : []))
  for (const { row, asks } of recorded) {
    page.note(recordedEvent(row))
    if (asks) page.tell(toldEvent('approval.requested', scene.now, row, asks.expiresAt))
  }
  const asks = recorded.flatMap(({ asks: approval }) => approval ?? [])
  if (asks.length > 0) await tx.approvals.insert(asks)
  await keepArguments(tx, recorded, context)
  return settled
}

/** `write` cannot come while the key is held and its rows were read; were it to come, nothing is sent. */
async function afterInsert(
  tx: Tx,
  plan: Plan,
  result: 'inserted' | 'call' | 'write' | undefined,
  { scene }: Context,
): Promise<Plan> {
  if (result === 'inserted' || !plan.insert) return plan
  if (result === 'call') return { decision: { kind: 'duplicate' } }
  const row = refusedRow(plan.insert, 'identical_in_flight', scene.deps.now())
  const [again] = await tx.executions.insert([row])
  if (again !== 'inserted') return { decision: { kind: 'duplicate' } }
  return { decision: { kind: 'refused', row, code: 'identical_in_flight' }, insert: row }
}

async function keepArguments(
  tx: Tx,
  recorded: readonly { readonly row: Execution; readonly at: number }[],
  { entries, scene }: Context,
): Promise<void> {
  const { bodies } = scene.deps
  const kept = recorded.flatMap(({ row, at }) => {
    const text = entries[at]?.argumentsText
    if (row.retainMs === null || text === undefined) return []
    const sealed = bodies.seal(row.id, 'arguments', text)
    const dueAt = scene.now + row.retainMs
    return [{ executionId: row.id, kind: 'arguments' as const, sealed, dueAt }]
  })
  if (kept.length > 0) await tx.bodies.insert(kept)
}

async function dispatch(
  tx: Tx,
  page: PageDraft,
  plans: readonly Plan[],
  { scene }: Context,
): Promise<Plan[]> {
  const rows = plans.flatMap(({ dispatch: row }) => (row ? [row] : []))
  if (rows.length === 0) return [...plans]
  const sequences = await tx.executions.dispatch(rows)
  const sequenceOf = new Map(rows.map((row, at) => [row, sequences[at]]))
  const consumed: Approval[] = []
  const done = plans.map((plan): Plan => {
    if (!plan.dispatch) return plan
    const sequence = sequenceOf.get(plan.dispatch)
    if (sequence === undefined) return busy
    const row = { ...plan.dispatch, sequence }
    page.note(dispatchedEvent(row, sequence))
    if (plan.consumes) consumed.push({ ...plan.consumes, state: 'consumed', closedAt: scene.now })
    return { ...plan, decision: { kind: 'passed', row } }
  })
  if (consumed.length > 0) await tx.approvals.update(consumed)
  return done
}

/** Not with every call; often enough that a session which calls is never taken for idle. */
const touchEveryMs = 60_000

/** A session that is past its time is not: the call that is refused for it must not bring it back. */
async function touchSessions(tx: Tx, scene: Scene, entries: readonly Entry[]): Promise<void> {
  const { authority, now } = scene
  const seen = new Set<SessionId>()
  for (const { request } of entries) {
    const session = authority.sessions.get(request.session.id)
    if (!session || seen.has(session.id)) continue
    seen.add(session.id)
    const isDue = now - session.lastCallAt >= Math.min(touchEveryMs, session.idleMs / 4)
    if (isDue && judgeSession(session, now) === undefined) await tx.sessions.touch(session.id, now)
  }
}
