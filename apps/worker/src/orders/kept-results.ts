/** The bodies of results that are not settled yet: for two minutes, and no more than fit. */
const keepMs = 120_000
const keepBytes = 64 * 1024 * 1024

export class KeptResults {
  readonly #monotonic: () => number
  /** Oldest first. */
  readonly #kept = new Map<string, { readonly raw: Buffer; readonly at: number }>()
  #bytes = 0

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Makes room by dropping the oldest ones. */
  add(id: string, raw: Buffer): void {
    this.drop(id)
    this.#kept.set(id, { raw, at: this.#monotonic() })
    this.#bytes += raw.length
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= keepBytes) return
      this.drop(oldest)
    }
  }

  /** Undefined when it was never kept, or is not kept any more. */
  find(id: string): Buffer | undefined {
    return this.#kept.get(id)?.raw
  }

  drop(id: string): void {
    this.#bytes -= this.#kept.get(id)?.raw.length ?? 0
    this.#kept.delete(id)
  }

  /** Called every second. */
  sweep(): void {
    const oldest = this.#monotonic() - keepMs
    for (const [id, { at }] of this.#kept) {
      if (at > oldest) return
      this.drop(id)
    }
  }
}
