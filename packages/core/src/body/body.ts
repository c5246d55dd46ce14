/** Arguments and results as they were, sealed with the data key and kept for a time. Digests of them stay for good. */
import type { ExecutionId } from '@sallyport/protocol'

export const bodyKinds = ['arguments', 'result'] as const
export type BodyKind = (typeof bodyKinds)[number]

export interface Body {
  readonly executionId: ExecutionId
  readonly kind: BodyKind
  readonly sealed: Uint8Array
  /** ms since 1970: it may be deleted then, if its execution is final. */
  readonly dueAt: number
}

/** Who has the data key. */
export interface BodySealer {
  /** Bound to execution and kind: moved to another row it does not open. */
  seal(executionId: ExecutionId, kind: BodyKind, plain: string | Uint8Array): Uint8Array
  /** Throws `row_unreadable` for what was not sealed so. */
  open(executionId: ExecutionId, kind: BodyKind, sealed: Uint8Array): Buffer
}
