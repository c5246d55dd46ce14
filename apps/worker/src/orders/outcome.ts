import type { ErrorCode } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'

/** What became of an order: a result head without the id, and the bytes that go with it. */
export interface Outcome {
  readonly head: Omit<ResultHead, 'intent'>
  readonly raw?: Buffer
}

/** It is proved that nothing left for the upstream. */
export function notSent(code: ErrorCode): Outcome {
  return { head: { verdict: 'not_sent', code } }
}
