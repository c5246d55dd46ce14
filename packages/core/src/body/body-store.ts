import type { ExecutionId } from '@sallyport/protocol'
import type { Body, BodyKind } from './body.ts'

export interface BodyReads {
  get(executionId: ExecutionId, kind: BodyKind): Promise<Body | undefined>
  /** Those with `dueAt` not after `now`, the longest due first. Throws `row_unreadable` for one that cannot be read. */
  due(now: number, limit: number): Promise<Body[]>
}

export interface BodyWrites extends BodyReads {
  /** Each on its own; one that is there already stays. */
  insert(bodies: readonly Body[]): Promise<void>
  /** Puts the day off. */
  postpone(bodies: readonly Pick<Body, 'executionId' | 'kind'>[], dueAt: number): Promise<void>
  delete(bodies: readonly Pick<Body, 'executionId' | 'kind'>[]): Promise<void>
}
