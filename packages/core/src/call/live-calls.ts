/** Calls in flight and those of the last minute, by session and call id: the same id is the same call. */
import { type ExecutionId, Register, type SessionId } from '@sallyport/protocol'
import { atMost } from './at-most.ts'
import type { CallOutcome } from './ports.ts'
import { RecentOutcomes } from './recent-outcomes.ts'

export interface LiveCall {
  /** Which tool with which arguments: the same call id for anything else is another call. */
  readonly digest: string
  /** Undefined once it was answered. */
  readonly id?: ExecutionId
  /** Aborted when whoever made it has gone. */
  readonly left?: AbortSignal | undefined
  readonly outcome: Promise<CallOutcome>
  /** Nobody can ask again with its id: what came of it need not be kept. */
  readonly isOnce?: boolean
}

export class LiveCalls {
  readonly #live = new Register<string, LiveCall & { readonly session: SessionId }>()
  readonly #recent: RecentOutcomes

  constructor(now: () => number) {
    this.#recent = new RecentOutcomes(now)
  }

  get size(): number {
    return this.#live.size
  }

  find(session: SessionId, callId: string): LiveCall | undefined {
    const key = keyOf(session, callId)
    return this.#live.get(key) ?? this.#recent.get(key)
  }

  /** No call of this id is in flight. */
  keep(session: SessionId, callId: string, live: LiveCall): void {
    const key = keyOf(session, callId)
    this.#live.set(key, { ...live, session })
    void live.outcome.then((outcome) => {
      this.#live.delete(key)
      // What was told about another execution of this call id is not its outcome.
      if (!live.isOnce && outcome.executionId === live.id && isLasting(outcome))
        this.#recent.keep(key, live.digest, outcome)
    })
  }

  /** Resolves when the last of them is answered, or after `ms`. */
  async settled(ms: number, session?: SessionId): Promise<void> {
    const all = this.#live.values()
    const asked = session === undefined ? all : all.filter((call) => call.session === session)
    const open = asked.map(({ outcome }) => outcome)
    await atMost(ms, Promise.allSettled(open))
  }
}

function keyOf(session: SessionId, callId: string): string {
  return `${session} ${callId}`
}

/** Not so for who is to come again, and for what a person may resolve meanwhile. */
function isLasting(outcome: CallOutcome): boolean {
  return (
    outcome.kind === 'result' || (outcome.kind === 'failure' && outcome.code !== 'outcome_unknown')
  )
}

/** Whether whoever made it goes before it is answered. */
export function leavesBefore(
  outcome: Promise<CallOutcome>,
  left: AbortSignal | undefined,
): Promise<boolean> {
  if (!left) return Promise.resolve(false)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const leaves = (): void => resolve(true)
  if (left.aborted) leaves()
  left.addEventListener('abort', leaves, { once: true })
  void outcome.then(() => resolve(false))
  return promise.finally(() => left.removeEventListener('abort', leaves))
}
