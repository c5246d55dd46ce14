/** One request of a guest, and the stream of its answer as the gateway at its other end sees it. */
import type { CallOutcome, Session } from '@sallyport/core'
import type { ExecutionId, InstanceId } from '@sallyport/protocol'
import { type Digest, digestBytes } from '@sallyport/protocol/node'
import type { Gateway } from './gateway.ts'
import { holdMs, type sessions, tools } from './rows.ts'

export interface Wanted {
  readonly at: 0 | 1
  readonly tool: keyof typeof tools
  readonly argumentsText: string
  /** Legacy, when absent. */
  readonly era?: 'legacy' | 'modern'
  /** The first, when absent. */
  readonly session?: keyof typeof sessions
}

/** How a guest asks for something that it wants. */
export interface Way {
  readonly at: 0 | 1
  readonly session: Session
  readonly callId: string
  /** It comes for the outcome of that execution. */
  readonly collects?: ExecutionId | undefined
}

/** One thing that is wanted, however often it is asked for. */
export interface Wish {
  readonly wanted: Wanted
  isOver: boolean
  /** The execution whose answer was reset after it was written. */
  wasReset?: ExecutionId
}

export class Ask {
  readonly wish: Wish
  readonly way: Way
  readonly gateway: Gateway
  readonly digest: Digest
  readonly #holdEndsAt: number
  readonly #cancelled = new AbortController()
  readonly #left = new AbortController()
  /** The guest has broken the connection. */
  isGone = false
  /** The guest expects nothing more of it. */
  isOver = false
  outcome: CallOutcome | undefined
  #isCancelled = false

  constructor(wish: Wish, way: Way, gateway: Gateway, now: number) {
    this.#holdEndsAt = now + holdMs
    this.wish = wish
    this.way = way
    this.gateway = gateway
    this.digest = digestBytes(wish.wanted.argumentsText)
  }

  get instance(): InstanceId {
    return this.gateway.instance
  }

  /** Somebody at the other end waits for an answer, for all that the gateway has seen. */
  get isOpen(): boolean {
    return this.gateway.program.isAlive && !this.#left.signal.aborted && !this.outcome
  }

  get isAnswered(): boolean {
    return this.outcome !== undefined
  }

  get gatewayLives(): boolean {
    return this.gateway.program.isAlive
  }

  /** Before it may have been told to come again: then a cancel may come too late. */
  get isCancelled(): boolean {
    return this.#isCancelled
  }

  send(): Promise<CallOutcome> {
    const { desk } = this.gateway
    const { session, callId, collects } = this.way
    const { argumentsText, era = 'legacy' } = this.wish.wanted
    const stream = { cancelled: this.#cancelled.signal, left: this.#left.signal }
    if (collects) return desk.collect({ session, era, executionId: collects, ...stream })
    const tool = tools[this.wish.wanted.tool]
    return desk.call({ session, era, tool, argumentsText, callId, ...stream })
  }

  cancel(now: number): void {
    this.#isCancelled = now < this.#holdEndsAt
    this.#cancelled.abort()
  }

  /** The gateway sees that the stream has ended. */
  leave(): void {
    this.#left.abort()
  }
}
