/** A call arrives: it is sent, it waits, it is an earlier one, or it is refused. */
import type { ErrorCode } from '@sallyport/protocol'
import { type Approval, pendingAtMost } from '../approval/approval.ts'
import type { Execution } from '../execution/execution.ts'
import { judge, judgePause } from './judge.ts'
import { orderFor } from './order-for.ts'
import { readinessOf } from './readiness.ts'
import type { Arrival, Scene } from './scene.ts'
import { collectWithinMs, meetTwins, openTwins } from './twins.ts'
import type { Hold, Plan } from './verdict-of-barrier.ts'

/** For so long a call waits for a change of what it depends on, a secret that is sealed again, say, to be committed. */
const changeTakesMs = 2_000

export async function decideArrival(arrival: Arrival, scene: Scene): Promise<Plan> {
  const { request } = arrival
  const { tool, session, cancelled, left } = request
  const { binding } = tool
  const hasLeft = left?.aborted === true
  const caller = hasLeft && arrival.row.caller !== null ? 'detached' : arrival.row.caller
  const row: Execution = { ...arrival.row, retainMs: retainMsOf(arrival, scene), caller }
  const hasGone = cancelled?.aborted === true || (hasLeft && row.isModern)
  if (hasGone) return refusal(row, 'call_cancelled', scene)
  const met = row.writeKey === null ? undefined : await meetIdentical(row, scene)
  if (met) return met
  const code =
    judge({ binding, session }, scene.authority) ?? judgePause(scene.authority, binding.access)
  if (code === 'authority_busy' && scene.deps.now() - row.arrivedAt < changeTakesMs)
    return { decision: { kind: 'busy' } }
  if (code) return refusal(row, code, scene)
  if (binding.mode === 'write_with_approval') return ask(row, arrival, scene)
  if (binding.mode === 'write_unattended') {
    const held = await holdUp(row, arrival, scene)
    if (held) return held
  }
  return send(row, arrival, scene)
}

async function meetIdentical(row: Execution, scene: Scene): Promise<Plan | undefined> {
  const twins = scene.twinsOf(row)
  if (twins.some((twin) => isSameCall(twin, row))) return { decision: { kind: 'duplicate' } }
  const met = meetTwins(twins, row.chainId, scene)
  switch (met.kind) {
    case 'unknown':
      return refusal(row, 'outcome_unknown', scene, met.twin)
    case 'resolved':
      return resolved(row, met.twin, scene)
    case 'take_over':
      return takeOver(met.twin, row, scene)
    default:
      return undefined
  }
}

/** It is asked for again with its own call id, and gets its own outcome. */
function isSameCall(twin: Execution, { sessionId, callId }: Execution): boolean {
  return twin.sessionId === sessionId && twin.callId === callId
}

/** The person's word is the answer, and is given until somebody has it. */
function resolved(row: Execution, twin: Execution, scene: Scene): Plan {
  const code = resolvedCode(twin)
  const plan = refusal(row, code, scene, twin)
  return { ...plan, attach: twin }
}

export function resolvedCode({ resolution }: Execution): ErrorCode {
  return `resolved_${resolution?.outcome ?? 'abandoned'}`
}

function takeOver(twin: Execution, row: Execution, scene: Scene): Plan {
  const { gateway } = scene.deps
  const attached: Execution = {
    ...twin,
    caller: 'attached',
    callerInstance: gateway,
    isModern: row.isModern,
  }
  scene.note(attached)
  const on = holdOf(row, scene, 'person')
  return { decision: { kind: 'taken_over', row: attached, on }, attach: twin }
}

function ask(row: Execution, { request }: Arrival, scene: Scene): Plan {
  const { authority, deps } = scene
  const { session, tool } = request
  const settings = authority.profiles.get(session.profileId)?.settings
  // Such tools are not even bound there; this is the last place where it could go wrong.
  if (settings?.interactive !== true) return refusal(row, 'nobody_to_approve', scene)
  if (!scene.takePending(session.id, pendingAtMost))
    return refusal(row, 'too_many_approvals', scene)
  const id = deps.ids('approval')
  const waiting: Execution = {
    ...behind(row, scene),
    state: 'awaiting_approval',
    code: null,
    approvalId: id,
  }
  const approval: Approval = {
    id,
    executionId: row.id,
    sessionId: session.id,
    ownerId: session.ownerId,
    callId: row.callId,
    bindingHash: tool.binding.hash,
    argumentsDigest: row.argumentsDigest ?? '',
    digestVersion: row.digestVersion,
    state: 'pending',
    approvers: tool.grantLimits.approvers ?? 'owner',
    excludesRequester: tool.grantLimits.excludeRequester === true,
    decisions: [],
    requestedAt: scene.now,
    expiresAt: scene.now + settings.approvalTtlSeconds * 1000,
    closedAt: null,
  }
  scene.note(waiting)
  const on = { ...holdOf(row, scene, 'person'), expiresAt: approval.expiresAt }
  return { decision: { kind: 'held', row: waiting, on }, insert: waiting, asks: approval }
}

function behind(row: Execution, scene: Scene): Execution {
  const ids = openTwins(scene.twinsOf(row), scene)
  return ids.length > 0 ? { ...row, notes: { ...row.notes, behind: ids } } : row
}

/** A write that needs nobody still waits for an identical one, and is refused beside an unknown one of its tool. */
async function holdUp(
  row: Execution,
  { request }: Arrival,
  scene: Scene,
): Promise<Plan | undefined> {
  if (request.tool.grantLimits.identicalOnly !== true) {
    const unknown = await scene.unknownOf(row)
    if (unknown) return refusal(row, 'tool_outcome_unknown', scene, unknown)
  }
  if (meetTwins(scene.twinsOf(row), row.chainId, scene).kind !== 'behind') return undefined
  const queued: Execution = { ...behind(row, scene), state: 'approved', code: null }
  scene.note(queued)
  const on = holdOf(row, scene, 'identical_call')
  return { decision: { kind: 'held', row: queued, on }, insert: queued }
}

async function send(row: Execution, arrival: Arrival, scene: Scene): Promise<Plan> {
  const { tool, session } = arrival.request
  const readiness = readinessOf(arrival, scene)
  if (readiness === 'soon') return { decision: { kind: 'busy' } }
  if (readiness !== 'ready') return refusal(row, readiness, scene)
  const code = await scene.takeRate(session.id, tool.binding.grantId, tool.grantLimits.rate)
  if (code) return refusal(row, code, scene)
  const made = orderFor(row, arrival, scene)
  if ('code' in made) return refusal(row, made.code, scene)
  scene.note(made.row)
  return { decision: { kind: 'passed', row: made.row }, insert: made.row, order: made.order }
}

function refusal(row: Execution, code: ErrorCode, scene: Scene, about?: Execution): Plan {
  const refused = refusedRow(row, code, scene.deps.now())
  const told = about ? { ...refused, notes: { ...refused.notes, about: about.id } } : refused
  return {
    decision: { kind: 'refused', row: told, code, ...(about ? { about } : {}) },
    insert: told,
  }
}

export function refusedRow(row: Execution, code: ErrorCode, at: number, field?: string): Execution {
  return {
    ...row,
    state: 'refused',
    code,
    field: field ?? null,
    finishedAt: at,
    approvalId: null,
    intentId: null,
    intentDigest: null,
    intentIssuedAt: null,
    workerInstance: null,
    barrierAt: null,
    notAfter: null,
    caller: null,
    retainMs: null,
  }
}

export function holdOf(row: Execution, { authority }: Scene, what: Hold['for']): Hold {
  const profile = [...authority.profiles.values()].find(
    ({ id }) => id === authority.sessions.get(row.sessionId)?.profileId,
  )
  return { for: what, holdMs: (profile?.settings.holdSeconds ?? 0) * 1000, expiresAt: undefined }
}

/** What an identical call may still come for is kept that long whatever the profile says. */
function retainMsOf({ request }: Arrival, { authority }: Scene): number | null {
  const settings = authority.profiles.get(request.session.profileId)?.settings
  if (!settings) return null
  const isKept = request.tool.binding.access === 'write' || settings.keepReads
  return isKept ? Math.max(settings.retainDays * 86_400_000, collectWithinMs) : null
}
