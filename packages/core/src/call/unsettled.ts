/** Writes with outcomes that are not recorded yet, and the moves of callers that presume them. */
import { type ExecutionId, Register } from '@sallyport/protocol'
import type { PendingMove } from './group.ts'

interface Unsettled {
  /** Of outcomes; one may be about another attempt. */
  count: number
  /** What has to wait for all of them. */
  readonly moves: PendingMove[]
}

export class UnsettledWrites {
  readonly #writes = new Register<ExecutionId, Unsettled>()

  begin(id: ExecutionId): void {
    const write = this.#writes.get(id) ?? { count: 0, moves: [] }
    write.count++
    this.#writes.set(id, write)
  }

  /** False when no outcome is open that it would have to wait for. */
  keep(move: PendingMove): boolean {
    const write = this.#writes.get(move.change.id)
    write?.moves.push(move)
    return write !== undefined
  }

  /** An outcome was recorded, or cannot be; what waits no longer. */
  end(id: ExecutionId): readonly PendingMove[] {
    const write = this.#writes.get(id)
    if (!write || --write.count > 0) return []
    this.#writes.delete(id)
    return write.moves
  }
}
