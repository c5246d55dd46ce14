/** Runs works in the order they came, each when the one before it has ended. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    // The next one runs whatever became of this one; its caller hears of it.
    this.#last = result.catch(() => {})
    return result
  }
}
