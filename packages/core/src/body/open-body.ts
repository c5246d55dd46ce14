import type { ExecutionId } from '@sallyport/protocol'
import type { Reads } from '../store.ts'
import type { BodyKind, BodySealer } from './body.ts'

/** The text as it was, or null where it is not kept (any more). Throws `row_unreadable` when it does not open. */
export async function openBody(
  reads: Reads,
  sealer: BodySealer,
  executionId: ExecutionId,
  kind: BodyKind,
): Promise<string | null> {
  const body = await reads.bodies.get(executionId, kind)
  return body ? sealer.open(executionId, kind, body.sealed).toString('utf8') : null
}
