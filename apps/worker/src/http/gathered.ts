/** Bytes that come in parts, held as one: a part costs far more than its bytes, and whoever sends says how small they are. */
export class Gathered {
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  push(part: Buffer): void {
    const length = this.#length + part.length
    // Most come in one part, which is not copied.
    if (this.#length === 0) this.#bytes = part
    else {
      if (length > this.#bytes.length) this.#grow(2 * length)
      part.copy(this.#bytes, this.#length)
    }
    this.#length = length
  }

  /** No longer than it says: those who hold it count it by its length. */
  whole(): Buffer {
    return this.#length === this.#bytes.length ? this.#bytes : Buffer.from(this.#filled)
  }

  get #filled(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #grow(size: number): void {
    const grown = Buffer.allocUnsafe(size)
    this.#filled.copy(grown)
    this.#bytes = grown
  }
}
