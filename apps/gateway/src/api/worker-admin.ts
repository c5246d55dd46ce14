/** What the control API asks of the worker. It opens nothing itself: listings and keys are all it gets. */
import type { Connection, Credential } from '@sallyport/core'
import type { WebhookId } from '@sallyport/protocol'
import type {
  CoreDumps,
  IsolationLayer,
  LayerState,
  Listing,
  ResultHead,
  WebhookClear,
} from '@sallyport/protocol/node'

export interface WorkerInfo {
  readonly state: 'up' | 'down'
  /** Null while the worker is down. */
  readonly instance: string | null
  readonly release: string | null
  readonly build: string | null
  /** As this machine counts; null when that is not known. */
  readonly pid: number | null
  /** May memory of the worker get into a core dump? */
  readonly coreDumps: CoreDumps | null
  /** What separates it from the rest of its machine; null when it does not tell. */
  readonly isolation: WorkerIsolation | null
  /** When the first certificate of the link ends, ms since 1970; null when that is not known. */
  readonly certificateExpiresAt: number | null
}

export interface WorkerIsolation {
  /** By what the worker finds from inside. */
  readonly layers: Readonly<Record<IsolationLayer, LayerState>>
  /** What kept this gateway from doing more, a sentence each. */
  readonly because: readonly string[]
}

/** One attempt to deliver one event. */
export interface WebhookToSend {
  readonly webhookId: WebhookId
  /** Of its seal. */
  readonly version: number
  readonly scope: string
  readonly seal: string
  readonly clear: WebhookClear
  /** The same for every attempt: the receiver knows the event again by it. */
  readonly eventId: string
  /** JSON text, 64 KiB at most; what is signed and sent is these bytes. */
  readonly body: string
}

export interface WorkerAdmin {
  /**
   * Connects to the upstream and lists its tools, within the worker's own limits. Rejects with SallyportError: an
   * `upstream_*` code, `too_many_tools`, what is wrong with the seals, or `worker_down`.
   */
  list(connection: Connection, credential: Credential | undefined): Promise<Listing>
  /**
   * Sends it once. `result`: the receiver has answered, with `webhook_refused` when it did not want it (410: never again).
   * `uncertain` and `not_sent`: it may be tried again. Rejects with `too_large`, and with `worker_down` when there is no
   * worker or no answer of it; then it may have been sent.
   */
  sendWebhook(webhook: WebhookToSend): Promise<ResultHead>
  /** Upstream state of the connection is no longer needed. Does nothing while the worker is down. */
  release(connectionId: Connection['id']): void
  info(): WorkerInfo
}
