/** A way to the gateway. How bytes travel is its own affair; what they mean is not. */
import type { FewHeaders, ShimRequest } from '@sallyport/protocol/shim'

export interface Outgoing extends ShimRequest {
  /** The message, one line; empty for a GET. */
  readonly body: string
  /** Whether its answer arrived is told when it is known. */
  readonly isCall: boolean
}

/** `unsent`: proved, nothing of the request left. `cut`: the answer ended before it was whole, or never came. */
export type Failure = 'unsent' | 'cut'
export type Fate = 'delivered' | 'lost'

/** Told in this order: `head`, any number of `message`, then `end`; `failed` instead of whatever has not come yet. */
export interface Sink {
  readonly head: (status: number, headers: FewHeaders) => void
  /** One JSON-RPC message on one line. */
  readonly message: (text: string) => void
  readonly end: () => void
  readonly failed: (failure: Failure) => void
}

export interface Link {
  /** Tells `sink` nothing before it returned. The function that comes back closes the request; its sink hears nothing more. */
  readonly send: (request: Outgoing, sink: Sink) => () => void
  /** An answer to this call came, and the harness has it, or nobody took it. */
  readonly settle: (call: string, fate: Fate) => void
  /** Resolves when what was settled has been passed on, or cannot be. */
  readonly close: () => Promise<void>
}

/** What one message may have, in bytes. The gateway takes less. */
export const lineLimit = 2 ** 26

/** The end of a stream of bytes, where one has to be told. */
export const end = Buffer.alloc(0)

export const now = Date.now

export const nothing = (): void => {}
