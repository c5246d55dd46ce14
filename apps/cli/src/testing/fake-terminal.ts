import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import type { SignalName, World } from '../world.ts'
import { Screen } from './screen.ts'
import type { SteppedClock } from './stepped-clock.ts'

/** A terminal of 80x24 in this process: what is typed, what is shown, and what the system says. */
export class FakeTerminal {
  readonly screen = new Screen()
  readonly raised: SignalName[] = []
  isRaw = false
  size = { columns: 80, rows: 24 }
  /** While we are stopped. */
  whileStopped = (): void => undefined
  /** Instead of writing, once it is set. */
  breaks: Error | undefined
  #wasRaw = false
  readonly #system = new EventEmitter()
  readonly #stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    // As Node does: what it has set already it does not set again, whatever others did meanwhile.
    setRawMode: (on: boolean) => {
      if (on !== this.#wasRaw) this.isRaw = on
      this.#wasRaw = on
    },
  })

  world(clock: SteppedClock): Partial<World> {
    const terminal = this
    return {
      stdin: this.#stdin,
      stdout: {
        isTTY: true,
        write: (text) => this.#write(text),
        get columns() {
          return terminal.size.columns
        },
        get rows() {
          return terminal.size.rows
        },
      },
      signals: {
        on: (name, listener) => this.#system.on(name, listener),
        off: (name, listener) => this.#system.off(name, listener),
        raise: (name) => this.#raise(name),
      },
      now: clock.now,
      delay: clock.delay,
    }
  }

  type(text: string): void {
    this.#stdin.write(text)
  }

  hangUp(): void {
    this.#stdin.end()
  }

  /** Reading from it fails. */
  fail(error: Error): void {
    this.#stdin.destroy(error)
  }

  signal(name: SignalName): void {
    this.#system.emit(name)
  }

  /** Names that somebody still listens to. */
  get heard(): readonly unknown[] {
    return this.#system.eventNames()
  }

  /** As it was before anything was done to it. */
  get isAsBefore(): boolean {
    return !this.isRaw && [...this.screen.modes].sort().join() === '25,7'
  }

  #write(text: string): void {
    const { breaks } = this
    this.breaks = undefined
    if (breaks) throw breaks
    this.screen.write(text)
  }

  #raise(name: SignalName): void {
    this.raised.push(name)
    if (name === 'SIGTSTP') this.whileStopped()
  }
}
