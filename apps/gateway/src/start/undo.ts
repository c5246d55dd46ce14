/** Steps that take back what was made, run in the reverse order. */
export class Undo {
  readonly #steps: (() => unknown)[] = []

  push(step: () => unknown): void {
    this.#steps.push(step)
  }

  async run(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) await step()
  }
}
