/**
 * What is in flight, by key: things that come and go all the time. A `Map` that is filled and emptied outgrows its table
 * again and again, and an outgrown table still holds what stood in it and names the table that came next. As soon as one
 * of them is in the old generation of the collector, and a full collection puts it there, whatever was in flight since
 * then stays until the next full one. So a place is only emptied here, and at times the places are left for new ones that
 * no earlier table leads to.
 */
export class Register<Key, Value extends object | true> {
  /** Undefined: emptied. */
  #places = new Map<Key, Value | undefined>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: Key): Value | undefined {
    return this.#places.get(key)
  }

  has(key: Key): boolean {
    return this.#places.get(key) !== undefined
  }

  set(key: Key, value: Value): void {
    if (!this.has(key)) this.#size++
    this.#places.set(key, value)
  }

  /** What stood there; undefined when nothing did. */
  delete(key: Key): Value | undefined {
    const value = this.#places.get(key)
    if (value === undefined) return undefined
    this.#places.set(key, undefined)
    this.#size--
    if (this.#places.size > 2 * this.#size + idlePlaces) this.#move()
    return value
  }

  /** As they are now: what comes or goes meanwhile changes nothing of it. */
  entries(): [Key, Value][] {
    return [...this.#places].filter((entry): entry is [Key, Value] => entry[1] !== undefined)
  }

  values(): Value[] {
    return this.entries().map(([, value]) => value)
  }

  #move(): void {
    const left = this.#places
    this.#places = new Map()
    for (const [key, value] of left) {
      if (value === undefined) continue
      this.#places.set(key, value)
      left.set(key, undefined)
    }
  }
}

/** So many emptied places may stand beside twice as many as are taken. */
const idlePlaces = 512
