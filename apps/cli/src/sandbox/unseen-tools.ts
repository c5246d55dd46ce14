/**
 * An agent program goes on without tools that it could not get, and says little of it. So it is found out which tools of its
 * session it never asked to see: a while after its start, and when it has ended.
 */
import type { Run } from '../run.ts'

/** The slowest of them needs half a minute on a busy machine. */
const afterMs = 60_000
const named = 10

export class UnseenTools {
  readonly #run: Run
  readonly #enough = new AbortController()
  #looking = Promise.resolve()
  #told = ''
  #count: number | undefined

  constructor(run: Run) {
    this.#run = run
  }

  /** Of a session whose guest was let go. While the terminal is the guest's, it is only counted. */
  begin(session: string): void {
    const isTerminal = this.#run.world.stderr.isTTY === true
    this.#looking = isTerminal ? this.#countOn(session) : this.#tellOnce(session)
  }

  /** On a terminal: how many, from a while after the start until all were asked for. */
  count(): number | undefined {
    return this.#count
  }

  stop(): void {
    this.#enough.abort()
    this.#count = undefined
  }

  async #tellOnce(session: string): Promise<void> {
    const { signal } = this.#enough
    await this.#run.world.delay(afterMs, signal)
    if (!signal.aborted) this.#tell(await this.#look(session))
  }

  async #countOn(session: string): Promise<void> {
    const { signal } = this.#enough
    do {
      await this.#run.world.delay(afterMs, signal)
      if (signal.aborted) return
      const unseen = await this.#look(session)
      if (!signal.aborted) this.#count = unseen?.length ?? this.#count
    } while (this.#count !== 0)
  }

  /** Names, as at `/mcp`; undefined when the gateway cannot be asked. Never rejects. */
  async end(session: string): Promise<readonly string[] | undefined> {
    this.stop()
    await this.#looking
    const unseen = await this.#look(session)
    this.#tell(unseen)
    return unseen
  }

  async #look(session: string): Promise<readonly string[] | undefined> {
    try {
      const { tools } = await this.#run.call('session.show', { params: { id: session } })
      return tools.filter(({ shown }) => !shown).map(({ name }) => name)
    } catch {
      // It is advice: the run is judged by what became of the guest.
      return undefined
    }
  }

  #tell(unseen: readonly string[] = []): void {
    const more = unseen.length > named ? `, and ${unseen.length - named} more` : ''
    const text = `${unseen.slice(0, named).join(', ')}${more}`
    if (unseen.length === 0 || text === this.#told) return
    this.#told = text
    this.#run.world.stderr.write(`The agent program has not asked to see: ${text}.\n`)
  }
}
