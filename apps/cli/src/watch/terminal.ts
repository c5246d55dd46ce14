/**
 * A terminal as a whole screen and single keys, and as it was before afterwards: on leaving, on a signal, when it is
 * stopped, and when we fail.
 */
import type { SignalName, World } from '../world.ts'
import { type Key, KeyReader } from './keys.ts'

export interface Listener {
  key(key: Key): void
  /** Of the terminal, also when it comes back after a stop. */
  resized(): void
  /** What ends us: a signal, or that nothing can be typed any more. */
  ended(by: SignalName): void
  /** It is to stop, as Control-Z says. */
  stopped(): void
}

/** The other screen, no cursor, nothing goes on in the next line, and what is pasted is told from what is typed. */
const enter = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h'
const leave = '\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l'
/** From an Escape that may begin the sequence of a key, until it was one. */
const settleMs = 50

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** What the input of a terminal says then. */
const gone = ['end', 'error'] as const

export class Terminal {
  readonly #world: World
  readonly #listener: Listener
  readonly #keys = new KeyReader()
  #settling: AbortController | undefined
  #isEntered = false
  /** What is on the screen. */
  #shown: readonly string[] = []

  constructor(world: World, listener: Listener) {
    this.#world = world
    this.#listener = listener
  }

  get size(): { readonly columns: number; readonly lines: number } {
    const { columns, rows } = this.#world.stdout
    // A terminal that does not know says 0.
    return { columns: columns || 80, lines: rows || 24 }
  }

  open(): void {
    const { signals, stdin } = this.#world
    for (const name of endings) signals.on(name, this.#endings[name])
    signals.on('SIGTSTP', this.#stop)
    signals.on('SIGCONT', this.#continue)
    signals.on('SIGWINCH', this.#resize)
    signals.on('exit', this.#leave)
    stdin.setEncoding('utf8')
    stdin.on('data', this.#read)
    for (const name of gone) stdin.on(name, this.#endings.SIGHUP)
    this.#enter()
  }

  /** More than once is once. */
  close(): void {
    const { signals, stdin } = this.#world
    this.#settling?.abort()
    this.#leave()
    for (const name of endings) signals.off(name, this.#endings[name])
    signals.off('SIGTSTP', this.#stop)
    signals.off('SIGCONT', this.#continue)
    signals.off('SIGWINCH', this.#resize)
    signals.off('exit', this.#leave)
    stdin.off('data', this.#read)
    for (const name of gone) stdin.off(name, this.#endings.SIGHUP)
    stdin.pause()
  }

  /** Writes what is not on the screen already. */
  paint(lines: readonly string[]): void {
    if (!this.#isEntered) return
    let text = ''
    for (const [at, line] of lines.entries())
      if (line !== this.#shown[at]) text += `\x1b[${at + 1};1H\x1b[2K${line}`
    this.#shown = lines
    if (text !== '') this.#world.stdout.write(text)
  }

  /** Something else may have written over it. */
  wipe(): void {
    this.#shown = []
    if (this.#isEntered) this.#world.stdout.write('\x1b[2J')
  }

  /** Comes back when it was continued; at once where nobody could continue it. */
  suspend(): void {
    const { signals } = this.#world
    this.#leave()
    signals.off('SIGTSTP', this.#stop)
    signals.raise('SIGTSTP')
    signals.on('SIGTSTP', this.#stop)
    this.#enter()
    this.#listener.resized()
  }

  #enter(): void {
    const { stdin, stdout } = this.#world
    // Node remembers the mode and would do nothing, but a shell may have changed it meanwhile.
    stdin.setRawMode?.(false)
    stdin.setRawMode?.(true)
    this.#isEntered = true
    stdout.write(enter)
    this.wipe()
  }

  readonly #leave = (): void => {
    if (!this.#isEntered) return
    this.#isEntered = false
    this.#world.stdout.write(leave)
    this.#world.stdin.setRawMode?.(false)
  }

  readonly #endings = {
    SIGINT: () => this.#listener.ended('SIGINT'),
    SIGTERM: () => this.#listener.ended('SIGTERM'),
    SIGHUP: () => this.#listener.ended('SIGHUP'),
  }

  readonly #stop = (): void => this.#listener.stopped()

  readonly #continue = (): void => {
    if (this.#isEntered) this.#enter()
    this.#listener.resized()
  }

  readonly #resize = (): void => {
    this.wipe()
    this.#listener.resized()
  }

  readonly #read = (text: string): void => {
    this.#settling?.abort()
    for (const key of this.#keys.read(text)) this.#listener.key(key)
    if (this.#keys.isUnsure) this.#settle()
  }

  #settle(): void {
    const settling = new AbortController()
    this.#settling = settling
    void this.#world.delay(settleMs, settling.signal).then(() => {
      if (settling.signal.aborted) return
      for (const key of this.#keys.settle()) this.#listener.key(key)
    })
  }
}
