/** What could happen next. Nothing goes on in the laboratory that was not held here and picked by a schedule. */

/** A process of the laboratory: whatever it waits for ends with it. */
export class Program {
  readonly name: string
  /** Its steps have priority over those of lanes further back. */
  readonly lane: string
  readonly ended: Promise<void>
  isAlive = true
  #end: () => void = () => {}

  constructor(name: string, lane: string) {
    this.name = name
    this.lane = lane
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  end(): void {
    this.isAlive = false
    this.#end()
  }
}

export interface Option {
  readonly name: string
  readonly run: () => void
}

export interface Held {
  /** Whose code goes on. */
  readonly program: Program
  /** That of the program, when absent. */
  readonly lane?: string
  /** The first is what usually happens. */
  readonly options: readonly [Option, ...Option[]]
  /** At once, when absent. */
  readonly isReady?: () => boolean
}

export class Steps {
  /** Oldest first. */
  #held: Held[] = []
  /** Whose code runs: what it asks of timers is its own. */
  running: Program | undefined

  hold(held: Held): void {
    if (held.program.isAlive) this.#held.push(held)
  }

  /** Resolves when a schedule lets it go on; never, when its program ends before. */
  pause(program: Program, name: string, isReady?: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.hold({ program, options: [{ name, run: resolve }], ...(isReady ? { isReady } : {}) })
    })
  }

  /** Resolves with what a schedule picks of these; never, when its program ends before. */
  choose<Name extends string>(program: Program, names: readonly [Name, ...Name[]]): Promise<Name> {
    return new Promise((resolve) => {
      const option = (name: Name): Option => ({ name, run: () => resolve(name) })
      const [first, ...others] = names
      this.hold({ program, options: [option(first), ...others.map(option)] })
    })
  }

  ready(): Held[] {
    return this.#held.filter(({ isReady }) => isReady?.() ?? true)
  }

  take(held: Held, option: Option): void {
    this.drop(held)
    this.running = held.program
    option.run()
  }

  drop(held: Held): void {
    const at = this.#held.indexOf(held)
    if (at >= 0) this.#held.splice(at, 1)
  }

  end(program: Program): void {
    program.end()
    this.#held = this.#held.filter((held) => held.program !== program)
  }
}

export function laneOf({ lane, program }: Held): string {
  return lane ?? program.lane
}
