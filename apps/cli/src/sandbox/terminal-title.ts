/**
 * Says in the terminal's title what a person should know while the screen is the guest's: how many approvals wait, and that an
 * agent program has not asked for its tools. Again and again as long as it is so, since most of them set titles too; then the
 * terminal's own is put back.
 */
import type { Run } from '../run.ts'

const everyMs = 2_000
/** Titles kept by the terminal; those that keep none ignore it. */
const keep = '\x1b[22;2t'
const putBack = '\x1b[23;2t'
const titled = (text: string): string => `\x1b]2;${text}\x07`

export interface TitleOptions {
  /** How many tools were not asked for by now; undefined when that is not known, or not yet to be told. */
  readonly unseen: () => number | undefined
}

export class TerminalTitle {
  readonly #run: Run
  readonly #options: TitleOptions
  readonly #enough = new AbortController()
  #looking = Promise.resolve()
  #waiting = 0
  #isShown = false

  constructor(run: Run, options: TitleOptions) {
    this.#run = run
    this.#options = options
  }

  /** Of a session whose guest was let go. */
  begin(session: string): void {
    const { stderr, env } = this.#run.world
    if (stderr.isTTY === true && env.TERM !== 'dumb') this.#looking = this.#watch(session)
  }

  /** Never rejects. */
  async end(): Promise<void> {
    this.#enough.abort()
    await this.#looking
    this.#show([])
  }

  async #watch(session: string): Promise<void> {
    const { signal } = this.#enough
    while (!signal.aborted) {
      this.#waiting = await this.#count(session)
      this.#show([...approvalsIn(this.#waiting), ...toolsIn(this.#options.unseen() ?? 0)])
      await this.#run.world.delay(everyMs, signal)
    }
  }

  /** When nobody can be asked now, as many as before. */
  async #count(session: string): Promise<number> {
    try {
      const query = { session, state: 'pending' }
      const { items } = await this.#run.call(
        'approval.list',
        { query },
        { until: this.#enough.signal },
      )
      return items.length
    } catch {
      // It is a convenience; whether there is a gateway is the heartbeat's to find out.
      return this.#waiting
    }
  }

  #show(parts: readonly string[]): void {
    const { stderr } = this.#run.world
    if (parts.length > 0)
      // In one piece: the guest writes to the same terminal.
      stderr.write(`${this.#isShown ? '' : keep}${titled(`Sallyport: ${parts.join(', ')}`)}`)
    else if (this.#isShown) stderr.write(putBack)
    this.#isShown = parts.length > 0
  }
}

function approvalsIn(waiting: number): string[] {
  if (waiting === 0) return []
  return [waiting === 1 ? '1 approval waits' : `${waiting} approvals wait`]
}

const toolsIn = (unseen: number): string[] =>
  unseen === 0 ? [] : [`${unseen} ${unseen === 1 ? 'tool' : 'tools'} not asked for`]
