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
  readonly endpointSeal: string
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
  /** A connection carried these intents and ended before their results came. */
  lost(ids: readonly IntentId[]): void
  /** A worker said hello. */
  up(instance: string): void
}

/** A call as a transport hands it over. Transports decide nothing. */
export interface CallRequest {
  readonly session: Session
  readonly tool: BoundTool
  /** JSON text of the arguments exactly as it came; `{}` when there were none. */
  readonly argumentsText: string
  /** The harness's own stable id where it sends one, else a random one made on arrival. */
  readonly callId: string
  /** Wanted only when the guest gave a progress token. */
  readonly progress?: (progress: ProgressHead) => void
  /** Aborted by an explicit cancel of the guest. Before the barrier it wins; after it, it is a wish. */
  readonly signal?: AbortSignal
}

/**
 * `result`: the bytes are exactly the upstream's result. `failure`: told to the model as a result with isError; `rpcError`
 * holds the upstream's JSON-RPC error when that is what it answered. `executionId` is null only when nothing was recorded.
 */
export type CallOutcome =
  | {
      readonly kind: 'result'
      readonly executionId: ExecutionId
      readonly result: Buffer
      readonly isError: boolean
    }
  | {
      readonly kind: 'failure'
      readonly executionId: ExecutionId | null
      readonly code: ErrorCode
      readonly field?: string
      readonly detail?: string
      readonly rpcError?: Buffer
    }

/** The one door. Never rejects: whatever goes wrong inside is a failure with a code. */
export interface Calls {
  call(request: CallRequest): Promise<CallOutcome>
}
