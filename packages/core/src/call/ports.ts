/** What the call path needs from outside, and what transports need from it. */
import type { ErrorCode, ExecutionId, IntentId } from '@sallyport/protocol'
import type {
  Digest,
  ObservedHead,
  ProgressHead,
  RecoveredHead,
  ResultHead,
} from '@sallyport/protocol/node'
import type { Session } from '../session/session.ts'
import type { BoundTool } from './toolset.ts'

/** One signed order: the intent as canonical JSON with its digest, and what travels beside it. */
export interface Order {
  readonly id: IntentId
  readonly text: string
  readonly digest: Digest
  /** Undefined for orders that go to no endpoint. */
  readonly endpointSeal: string | undefined
  readonly credentialSeal: string | undefined
  /** Canonical JSON; empty when the act has none. */
  readonly argumentsText: string
}

/** A batch that was signed and sent. Exactly one of the two is called, once. */
export interface SentBatch {
  /** The transaction is durable; these positions passed it. */
  commit(admitted: readonly number[]): void
  /** Any other end, an unclear one included. */
  abort(): void
}

export interface Recovered {
  readonly head: RecoveredHead
  readonly raw: Buffer
}

/** The link to the worker. It never decides and never repeats. */
export interface WorkerPort {
  /** The instance behind the connection that is up, or undefined. */
  instance(): string | undefined
  /** Writes `intents` and `body` frames. Throws `worker_down` when there is no connection; then nothing was sent. */
  send(orders: readonly Order[]): SentBatch
  /** The outcomes are durable: the worker may forget the results. */
  settled(ids: readonly IntentId[]): void
  /** A wish. */
  cancel(id: IntentId): void
  /**
   * Asks the worker that is connected now what became of intents. Rejects with `worker_down` when there is none or it
   * goes away before it has answered.
   */
  recover(intents: readonly { id: IntentId; iat: number; aud: string }[]): Promise<Recovered[]>
}

/** What the link tells; set by whoever composes. */
export interface WorkerEvents {
  result(head: ResultHead, raw: Buffer): void
  progress(head: ProgressHead): void
  observed(head: ObservedHead): void
  /** An answer to a write that was told as uncertain came after its time: evidence, which settles nothing. */
  late?(head: ResultHead): void
  /** A connection carried these intents and ended before their results came. */
  lost(ids: readonly IntentId[]): void
  /** A worker said hello. */
  up(instance: string): void
}

/** Who asks, as the transport sees it. */
export interface Caller {
  readonly session: Session
  /** A stream that ends takes its request back in 2026-07-28; in the eras before the call goes on without it. */
  readonly era: 'legacy' | 'modern'
  /** Wanted only when the guest gave a progress token. */
  readonly progress?: (progress: ProgressHead) => void
  /** Aborted by an explicit cancel of the guest. Before the barrier it wins; after it, it is a wish. */
  readonly cancelled?: AbortSignal
  /** Aborted when whoever asked has gone before the answer came. */
  readonly left?: AbortSignal
  /** Told when the answer waits for a person or for an identical call: the transport shows signs of life from now on. */
  readonly held?: () => void
}

/** A call as a transport hands it over. Transports decide nothing. */
export interface CallRequest extends Caller {
  readonly tool: BoundTool
  /** JSON text of the arguments exactly as it came; `{}` when there were none. */
  readonly argumentsText: string
  /** The harness's own stable id where it sends one, else a random one made on arrival. */
  readonly callId: string
  /** It was made on arrival: nobody knows it, so nobody can come with it again. */
  readonly isCallIdOurs?: boolean
}

/** Somebody comes for the outcome of an execution of the same session, or of one that it continues. */
export interface CollectRequest extends Caller {
  readonly executionId: string
}

/** What a transport says of an answer that somebody may have to come for again. Both may be called, in this order. */
export interface Delivery {
  /** It was written. */
  collected(): void
  /** It could not be written, or its connection was reset within `resetWithinMs`. */
  lost(): void
}

export const resetWithinMs = 60_000

/**
 * `result`: the bytes are exactly the upstream's result; with `earlier` it is that of an identical earlier call, which the
 * answer has to say. `failure`: told to the model as a result with isError; `rpcError` holds the upstream's JSON-RPC error
 * when that is what it answered. `waiting`: told as a normal result, which says how to collect the outcome later.
 * `executionId` is null only when nothing was recorded.
 */
export type CallOutcome =
  | {
      readonly kind: 'result'
      readonly executionId: ExecutionId
      readonly result: Buffer
      readonly isError: boolean
      readonly earlier?: Earlier
      readonly delivery?: Delivery
    }
  | {
      readonly kind: 'failure'
      readonly executionId: ExecutionId | null
      readonly code: ErrorCode
      readonly field?: string
      readonly detail?: string
      readonly rpcError?: Buffer
      readonly earlier?: Earlier
      readonly delivery?: Delivery
    }
  | {
      readonly kind: 'waiting'
      readonly executionId: ExecutionId
      /** A person decides; an identical call has to end first; it was sent and is being carried out. */
      readonly for: 'person' | 'identical_call' | 'answer'
    }

/** When an outcome that is given now was found, ms since 1970. */
export interface Earlier {
  readonly finishedAt: number
}

/** The one door. Never rejects: whatever goes wrong inside is a failure with a code. */
export interface Calls {
  call(request: CallRequest): Promise<CallOutcome>
  /** Sends nothing. `not_found` for what is not of this session or one it continues. */
  collect(request: CollectRequest): Promise<CallOutcome>
}
