/**
 * Writes checkpoints: after every thousand events and from time to time. A gateway lists its own streams from memory,
 * so that it signs what it appended and not what it finds; of gateways that are gone it lists what they left.
 */
import { type InstanceId, SallyportError } from '@sallyport/protocol'
import {
  digestBytes,
  type JournalHead,
  type JournalSigner,
  signCheckpoint,
} from '@sallyport/protocol/node'
import type { Store, Tx } from '../store.ts'
import type { Journal, Unlisted } from './journal.ts'

export interface CheckpointsDeps {
  readonly store: Store
  readonly journal: Journal
  readonly signer: JournalSigner
  readonly instance: InstanceId
  readonly now: () => number
  readonly report: (error: unknown, where: string) => void
}

const dueAfterEvents = 1000

export class Checkpoints {
  readonly #deps: CheckpointsDeps
  #events = 0
  #running: Promise<void> | undefined
  #queued: Promise<void> | undefined
  #newest: number | null = null

  constructor(deps: CheckpointsDeps) {
    this.#deps = deps
  }

  /** Sequence of the newest checkpoint that this gateway wrote; null before the first. */
  get newest(): number | null {
    return this.#newest
  }

  /** Events were committed; a failure of the checkpoint that they are due is reported, and the next one lists them too. */
  noteEvents(count: number): void {
    this.#events += count
    if (this.#events < dueAfterEvents || this.#running !== undefined) return
    this.write().catch((error) => this.#deps.report(error, 'checkpoint'))
  }

  /** Lists what was committed before; one at a time. Does nothing when there is nothing to list. */
  write(): Promise<void> {
    if (this.#running === undefined) return this.#start()
    // The one that runs may have looked before.
    this.#queued ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#queued = undefined
        return this.#running ?? this.#start()
      })
    return this.#queued
  }

  #start(): Promise<void> {
    this.#events = 0
    this.#running = this.#write().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #write(): Promise<void> {
    const { store, journal } = this.#deps
    const { heads, unclear } = journal.unlisted()
    const newest = await store.transact(async (tx) => {
      await tx.journal.holdChain()
      const found = await this.#findHeads(tx, unclear)
      return heads.length + found.length > 0 ? this.#add(tx, [...heads, ...found]) : null
    })
    journal.listed(heads)
    if (newest !== null) this.#newest = newest
  }

  /** Pages of its own whose commit was unclear and that are there, and what gateways that are gone left. */
  async #findHeads(tx: Tx, unclear: Unlisted['unclear']): Promise<JournalHead[]> {
    const orphans = await tx.journal.orphans(await tx.now(), this.#deps.instance)
    const own = await tx.journal.uncovered([...unclear.keys()])
    const left = await tx.journal.uncovered(orphans)
    await tx.journal.endStreams(orphans, await tx.now())
    return [...own.filter(({ stream, hash }) => unclear.get(stream)?.hash === hash), ...left]
  }

  /** Throws `journal_damaged` when the chain is shorter than it was: to go on would hide that. */
  async #add(tx: Tx, heads: readonly JournalHead[]): Promise<number> {
    const { now, signer } = this.#deps
    const before = await tx.journal.newestCheckpoint()
    if ((before?.sequence ?? 0) < (this.#newest ?? 0)) throw new SallyportError('journal_damaged')
    const [sequence, at] = [(before?.sequence ?? 0) + 1, now()]
    const position = await tx.journal.lastPosition()
    const previous = before ? digestBytes(before.jws) : null
    const jws = signCheckpoint({ v: 1, sequence, previous, at, position, heads }, signer)
    await tx.journal.addCheckpoint({ sequence, at, position, jws })
    await tx.journal.cover(heads)
    return sequence
  }
}
