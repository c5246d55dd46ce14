/** Batches that wait for their decision, each on the connection that carried it; seldom more than two at a time. */
interface Batch<Slot> {
  readonly digest: string
  readonly slots: readonly Slot[]
}

export class PendingBatches<Source, Slot> {
  readonly #bySource = new Map<Source, readonly Batch<Slot>[]>()

  has(source: Source, digest: string): boolean {
    return this.#of(source).some((batch) => batch.digest === digest)
  }

  add(source: Source, digest: string, slots: readonly Slot[]): void {
    this.#bySource.set(source, [...this.#of(source), { digest, slots }])
  }

  /** Takes the batch away; nothing when that connection carried none of that name. */
  take(source: Source, digest: string): readonly Slot[] {
    const batches = this.#of(source)
    const others = batches.filter((batch) => batch.digest !== digest)
    if (batches.length > 0) this.#bySource.set(source, others)
    return batches.find((batch) => batch.digest === digest)?.slots ?? []
  }

  forget(source: Source): void {
    this.#bySource.delete(source)
  }

  #of(source: Source): readonly Batch<Slot>[] {
    return this.#bySource.get(source) ?? []
  }
}
