import type { Body, BodyKind, BodyWrites } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import type { MemoryRows } from './memory-rows.ts'
import { sorted } from './sort.ts'

type Key = Pick<Body, 'executionId' | 'kind'>

export const bodyKey = ({ executionId, kind }: Key) => `${executionId} ${kind}`

/** Bytes cannot be frozen: who reads them gets a copy. */
export class MemoryBodies implements BodyWrites {
  readonly #bodies: MemoryRows<Body>

  constructor(rows: { bodies: MemoryRows<Body> }) {
    this.#bodies = rows.bodies
  }

  async get(executionId: ExecutionId, kind: BodyKind): Promise<Body | undefined> {
    const body = this.#bodies.get(bodyKey({ executionId, kind }))
    return body && copied(body)
  }

  async due(now: number, limit: number): Promise<Body[]> {
    const due = this.#bodies.all().filter(({ dueAt }) => dueAt <= now)
    const byKey = sorted(
      due,
      ({ executionId }) => executionId,
      ({ kind }) => kind,
    )
    return byKey
      .sort((a, b) => a.dueAt - b.dueAt)
      .slice(0, limit)
      .map(copied)
  }

  async insert(bodies: readonly Body[]): Promise<void> {
    for (const body of bodies) if (!this.#bodies.get(bodyKey(body))) this.#bodies.put(body)
  }

  async postpone(bodies: readonly Key[], dueAt: number): Promise<void> {
    for (const key of bodies) {
      const body = this.#bodies.get(bodyKey(key))
      if (body) this.#bodies.put({ ...body, dueAt })
    }
  }

  async delete(bodies: readonly Key[]): Promise<void> {
    for (const key of bodies) this.#bodies.drop(bodyKey(key))
  }
}

function copied(body: Body): Body {
  return { ...body, sealed: new Uint8Array(body.sealed) }
}
