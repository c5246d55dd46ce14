/** An execution that waits before its barrier: may it pass now? Everything is asked anew; what was true before says nothing. */
import type { ErrorCode } from '@sallyport/protocol'
import type { Approval } from '../approval/approval.ts'
import { isBeforeBarrier } from '../approval/cancel-waiting.ts'
import type { Execution } from '../execution/execution.ts'
import { holdOf, resolvedCode } from './decide-arrival.ts'
import { judge, judgePause } from './judge.ts'
import { orderFor } from './order-for.ts'
import { readinessOf } from './readiness.ts'
import type { Continuation, Scene } from './scene.ts'
import { callerOf, leftBehind, meetOlderTwins, takenBefore } from './twins.ts'
import type { Plan, WaitsFor } from './verdict-of-barrier.ts'

export async function decideContinuation(continuation: Continuation, scene: Scene): Promise<Plan> {
  const row = scene.rows.get(continuation.row.id)
  const speaks = row ? whoSpeaks(row, continuation, scene) : 'nobody_may'
  if (!row || speaks === 'nobody_may') return { decision: { kind: 'gone', row } }
  const approval = row.approvalId ? scene.approvals.get(row.approvalId) : undefined
  const code =
    continuation.holds() === 'cancelled'
      ? 'call_cancelled'
      : problem(row, approval, continuation, scene)
  if (code) return refuse(row, code, scene)
  const waits = (on: WaitsFor): Plan => hold(row, approval, on, scene, speaks === 'again')
  // Nobody takes what nobody is there for: it stays for whoever comes.
  const isTaken = speaks !== 'anyone'
  const met = meetOlderTwins(row, scene.twinsOf(row), scene)
  const left = isTaken ? leftBehind(row, scene.twinsOf(row), scene) : undefined
  if (left && met.kind !== 'unknown' && met.kind !== 'resolved') return answer(row, left, scene)
  switch (met.kind) {
    case 'unknown':
      return refuse(row, 'outcome_unknown', scene, met.twin)
    case 'resolved': {
      const plan = refuse(row, resolvedCode(met.twin), scene, met.twin)
      return isTaken ? { ...plan, attach: met.twin } : plan
    }
    case 'answered':
      return isTaken
        ? answer(row, met.twin, scene)
        : refuse(row, 'answered_by_earlier', scene, met.twin)
    case 'behind':
      return waits('identical_call')
    default:
      break
  }
  const taken = isTaken ? undefined : takenBefore(row, await scene.older(row))
  if (taken) return refuse(row, 'answered_by_earlier', scene, taken)
  if (row.state === 'awaiting_approval') return waits('person')
  const obstacle = await obstacleOf(row, continuation, scene)
  if (obstacle === 'soon') return { decision: { kind: 'busy' } }
  if (obstacle) {
    const isPassing = obstacle === 'authority_busy' || obstacle === 'worker_down'
    // An approval gives it a minute; without one the caller is told at once, as any other.
    return isPassing && approval ? waits('worker') : refuse(row, obstacle, scene)
  }
  const made = orderFor(row, continuation, scene)
  if ('code' in made)
    return made.code === 'worker_down' && approval ? waits('worker') : refuse(row, made.code, scene)
  scene.note(made.row)
  return {
    decision: { kind: 'passed', row: made.row },
    dispatch: made.row,
    order: made.order,
    ...(approval ? { consumes: approval } : {}),
    ...(speaks === 'again' ? { attach: row } : {}),
  }
}

/**
 * Who speaks for a row: its caller, if it is still this instance's; or, for a detached caller of a legacy era, any
 * instance. `again`: others took the caller for gone, and it is here.
 */
function whoSpeaks(
  row: Execution,
  { holds }: Continuation,
  scene: Scene,
): 'caller' | 'again' | 'anyone' | 'nobody_may' {
  if (!isBeforeBarrier(row)) return 'nobody_may'
  const isOurs = row.callerInstance === scene.deps.gateway
  const spoken = holds()
  if (spoken === 'caller' || spoken === 'cancelled') {
    if (!isOurs) return 'nobody_may'
    return row.caller === 'attached' ? 'caller' : 'again'
  }
  const caller = callerOf(row, scene)
  if (row.isModern) return 'nobody_may'
  return caller === 'detached' || (isOurs && spoken === 'left') ? 'anyone' : 'nobody_may'
}

/** What is wrong with its approval. */
function problem(
  row: Execution,
  approval: Approval | undefined,
  { request }: Continuation,
  { now }: Scene,
): ErrorCode | undefined {
  if (row.approvalId === null) return undefined
  const { binding } = request.tool
  const isBound =
    approval !== undefined &&
    approval.executionId === row.id &&
    approval.callId === row.callId &&
    approval.bindingHash === binding.hash &&
    row.bindingHash === binding.hash &&
    approval.argumentsDigest === row.argumentsDigest
  if (!isBound) return 'approval_settled'
  if (now >= approval.expiresAt) return 'approval_expired'
  const fits =
    row.state === 'approved' ? approval.state === 'approved' : approval.state === 'pending'
  return fits ? undefined : 'approval_settled'
}

async function obstacleOf(
  row: Execution,
  continuation: Continuation,
  scene: Scene,
): Promise<ErrorCode | 'soon' | undefined> {
  const { tool, session } = continuation.request
  const { binding, grantLimits } = tool
  const code =
    judge({ binding, session }, scene.authority) ?? judgePause(scene.authority, binding.access)
  if (code) return code
  const isUnattended = row.approvalId === null && grantLimits.identicalOnly !== true
  if (isUnattended && (await scene.unknownOf(row))) return 'tool_outcome_unknown'
  // A worker that is away must not use up the rate.
  if (scene.deps.worker() === undefined) return 'worker_down'
  const readiness = readinessOf(continuation, scene)
  if (readiness !== 'ready') return readiness
  return scene.takeRate(session.id, binding.grantId, grantLimits.rate)
}

function hold(
  row: Execution,
  approval: Approval | undefined,
  what: WaitsFor,
  scene: Scene,
  attaches: boolean,
): Plan {
  const held: Execution = attaches ? { ...row, caller: 'attached' } : row
  const on = { ...holdOf(row, scene, what), expiresAt: approval?.expiresAt }
  return { decision: { kind: 'held', row: held, on }, ...(attaches ? { attach: row } : {}) }
}

function refuse(row: Execution, code: ErrorCode, scene: Scene, about?: Execution): Plan {
  const notes = about ? { ...row.notes, about: about.id } : row.notes
  const refused: Execution = {
    ...row,
    state: 'refused',
    code,
    notes,
    finishedAt: scene.now,
    caller: null,
  }
  scene.note(refused)
  return {
    decision: { kind: 'refused', row: refused, code, ...(about ? { about } : {}) },
    refuse: refused,
  }
}

/** For this one nothing is sent: the one it came after is what was wanted, and nobody is there for that. */
function answer(row: Execution, by: Execution, scene: Scene): Plan {
  const plan = refuse(row, 'answered_by_earlier', scene, by)
  const attached: Execution = {
    ...by,
    caller: 'attached',
    callerInstance: scene.deps.gateway,
    isModern: row.isModern,
  }
  scene.note(attached)
  return {
    ...plan,
    decision: { kind: 'answered', row: plan.refuse as Execution, by: attached },
    attach: by,
  }
}
