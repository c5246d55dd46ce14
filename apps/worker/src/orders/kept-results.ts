/**
 * The bodies of results that are not settled yet: for two minutes, and no more than fit. The queue holds nothing but
 * the bodies and lets go of each when it is dropped: whatever an old array still points to lives until the whole heap
 * is collected.
 */
const keepMs = 120_000
const keepBytes = 64 * 1024 * 1024
/** As many places of dropped bodies may stand in the queue beside as many that are kept. */
const idlePlaces = 1_024

export interface KeptResult {
  /** Undefined once it was dropped. */
  raw: Buffer | undefined
  readonly at: number
}

export class KeptResults {
  readonly #monotonic: () => number
  /** Oldest first. */
  #queue: KeptResult[] = []
  #count = 0
  #bytes = 0

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Makes room by dropping the oldest ones. */
  keep(raw: Buffer): KeptResult {
    const kept: KeptResult = { raw, at: this.#monotonic() }
    this.#queue.push(kept)
    this.#count++
    this.#bytes += raw.length
    if (this.#bytes > keepBytes) this.#makeRoom()
    if (this.#queue.length > 2 * this.#count + idlePlaces) this.#tidy()
    return kept
  }

  drop(kept: KeptResult): void {
    if (!kept.raw) return
    this.#count--
    this.#bytes -= kept.raw.length
    kept.raw = undefined
  }

  /** Called every second. */
  sweep(): void {
    const oldest = this.#monotonic() - keepMs
    for (const kept of this.#queue) {
      if (kept.at > oldest) break
      this.drop(kept)
    }
    this.#tidy()
  }

  #makeRoom(): void {
    for (const kept of this.#queue) {
      if (this.#bytes <= keepBytes) break
      this.drop(kept)
    }
    this.#tidy()
  }

  #tidy(): void {
    this.#queue = this.#queue.filter(({ raw }) => raw !== undefined)
  }
}
