/**
 * Identical writes (one owner, connection, tool, effective arguments) and what one of them has to reckon with: whose
 * outcome it takes over, what it has to wait for, what forbids it. Pure; decided under the lock of their key.
 */
import { type ExecutionId, finalStates, type InstanceId, type SessionId } from '@sallyport/protocol'
import { isBeforeBarrier } from '../approval/cancel-waiting.ts'
import type { CallerState, Execution, ExecutionState } from '../execution/execution.ts'

/** How long after it was settled an outcome that nobody took answers an identical call of its session. */
export const collectWithinMs = 15 * 60_000
/** How long an answer that is being written keeps identical calls waiting. */
const deliverWithinMs = 60_000

export interface Moment {
  readonly now: number
  /** The instance is known and holds a lease. */
  readonly isLive: (instance: InstanceId) => boolean
}

export type Encounter =
  | { readonly kind: 'none' }
  /** Nobody knows what became of that one: nothing identical may be sent. */
  | { readonly kind: 'unknown'; readonly twin: Execution }
  /** A person said what became of that one, and nobody has been told. */
  | { readonly kind: 'resolved'; readonly twin: Execution }
  /** The caller of that one has left: it is this call. */
  | { readonly kind: 'take_over'; readonly twin: Execution }
  /** That one has to end first. */
  | { readonly kind: 'behind'; readonly twin: Execution }
  /** That one, for which this call waited, has ended and its caller has left: its outcome is the answer. */
  | { readonly kind: 'answered'; readonly twin: Execution }

/** Where the caller of a row is: those of an instance without a lease have left. */
export function callerOf(row: Execution, { isLive }: Moment): CallerState | null {
  const { caller, callerInstance, isModern } = row
  if (caller !== 'attached' || (callerInstance !== null && isLive(callerInstance))) return caller
  return isModern && isBeforeBarrier(row) ? 'held_back' : 'detached'
}

export function hasLeft(row: Execution, moment: Moment): boolean {
  const caller = callerOf(row, moment)
  return caller === 'detached' || caller === 'held_back'
}

/** What a call that arrives meets. `twins` oldest first. */
export function meetTwins(
  twins: readonly Execution[],
  chainId: SessionId,
  moment: Moment,
): Encounter {
  const standing = standingOutcome(twins)
  if (standing) return standing
  const left = twins.find(
    (twin) => twin.chainId === chainId && hasLeft(twin, moment) && mayBeTakenOver(twin, moment),
  )
  if (left) return { kind: 'take_over', twin: left }
  const ahead = twins.find((twin) => isAhead(twin, moment))
  return ahead ? { kind: 'behind', twin: ahead } : { kind: 'none' }
}

/** What an execution that waits meets among those that are older than it. */
export function meetOlderTwins(
  row: Execution,
  twins: readonly Execution[],
  moment: Moment,
): Encounter {
  const others = twins.filter(({ id }) => id !== row.id)
  const standing = standingOutcome(others)
  if (standing) return standing
  const older = others.filter(({ id }) => id < row.id)
  const ahead = older.find((twin) => isAhead(twin, moment))
  if (ahead) return { kind: 'behind', twin: ahead }
  const answer = older.find(
    (twin) =>
      waitedFor(row, twin) &&
      isSettled(twin) &&
      hasLeft(twin, moment) &&
      mayBeTakenOver(twin, moment),
  )
  return answer ? { kind: 'answered', twin: answer } : { kind: 'none' }
}

/**
 * The oldest execution of its own session that a row came after and whose caller has left since: had that been known, the
 * row would not be there. Its caller, if it is one that is there, is the caller of that one.
 */
export function leftBehind(
  row: Execution,
  twins: readonly Execution[],
  moment: Moment,
): Execution | undefined {
  return twins.find(
    (twin) =>
      twin.id < row.id &&
      twin.chainId === row.chainId &&
      waitedFor(row, twin) &&
      isOpen(twin) &&
      hasLeft(twin, moment),
  )
}

/**
 * Executions of its own session that came after a row and would not be there, had it been known that its caller has left.
 * When another takes it over, it remembers them: theirs is that one's outcome, unless their caller is there or comes again.
 */
export function followersOf(row: Execution, twins: readonly Execution[]): ExecutionId[] {
  const followers = twins.filter(
    (twin) => twin.chainId === row.chainId && isBeforeBarrier(twin) && waitedFor(twin, row),
  )
  return [...new Set([...idsIn(row, 'followers'), ...followers.map(({ id }) => id)])]
}

/** Of those that a row came after, one that was left since and taken over. */
export function takenBefore(row: Execution, older: readonly Execution[]): Execution | undefined {
  return older.find((twin) => idsIn(twin, 'followers').includes(row.id))
}

/** What a row remembers to have come after. */
export const olderThan = (row: Execution): ExecutionId[] => idsIn(row, 'behind')

function idsIn({ notes }: Execution, name: string): ExecutionId[] {
  const ids = notes[name]
  return Array.isArray(ids) ? ids : []
}

/**
 * Those that are not settled, or being told, while a row arrives. It remembers them: clocks of gateways cannot say
 * afterwards what came first.
 */
export function openTwins(twins: readonly Execution[], moment: Moment): ExecutionId[] {
  return twins.filter((twin) => !isSettled(twin) || isBeingTold(twin, moment)).map(({ id }) => id)
}

function waitedFor(row: Execution, { id }: Execution): boolean {
  return olderThan(row).includes(id)
}

function standingOutcome(twins: readonly Execution[]): Encounter | undefined {
  const unknown = twins.find(({ state }) => state === 'unknown')
  if (unknown) return { kind: 'unknown', twin: unknown }
  const resolved = twins.find(({ state }) => state === 'resolved')
  return resolved ? { kind: 'resolved', twin: resolved } : undefined
}

/** What is not settled, or has an outcome that is not too old. */
function mayBeTakenOver(twin: Execution, { now }: Moment): boolean {
  if (!isSettled(twin)) return true
  return hasOutcome(twin) && now < (twin.finishedAt ?? 0) + collectWithinMs
}

/**
 * Not yet settled and able to go on without an identical call, or settled and just being told. What is held back goes
 * on only when it is taken over: nobody waits for that.
 */
function isAhead(twin: Execution, moment: Moment): boolean {
  if (isSettled(twin)) return isBeingTold(twin, moment)
  return !isBeforeBarrier(twin) || callerOf(twin, moment) !== 'held_back'
}

function isBeingTold(twin: Execution, moment: Moment): boolean {
  const isTold = hasOutcome(twin) && callerOf(twin, moment) === 'attached'
  return isTold && moment.now < (twin.finishedAt ?? 0) + deliverWithinMs
}

/** Refusals are decided anew, but for a person's; so is what is proved not to have been sent. */
function hasOutcome({ state, code }: Execution): boolean {
  return state === 'succeeded' || state === 'tool_error' || code === 'approval_denied'
}

function isOpen(twin: Execution): boolean {
  return isBeforeBarrier(twin) || twin.state === 'dispatching'
}

export function isSettled({ state }: Execution): boolean {
  return (finalStates as readonly ExecutionState[]).includes(state)
}
