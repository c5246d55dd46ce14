/**
 * The seals that have crossed a connection between gateway and worker. A seal crosses once and is named afterwards; both
 * ends keep the same number and forget the oldest first, in the order of the frames, so both always know the same ones.
 */
const remembered = 256

export class SealBook {
  /** By whatever names a seal at this end; oldest first. */
  readonly #seals = new Map<string, string>()

  /** For a name that is not known yet. */
  add(name: string, seal: string): void {
    this.#seals.set(name, seal)
    if (this.#seals.size <= remembered) return
    for (const oldest of this.#seals.keys()) {
      this.#seals.delete(oldest)
      return
    }
  }

  /** Undefined when it has not crossed, or is forgotten. */
  get(name: string): string | undefined {
    return this.#seals.get(name)
  }
}
