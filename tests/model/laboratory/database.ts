/** A store whose transactions come one after the other, and whose commits end in every way there is. */
import type { Store, Tx } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { Program, type Steps } from './steps.ts'

export interface DatabaseOptions {
  readonly store: Store
  readonly steps: Steps
  /** All of a transaction is decided; it is not yet committed, and will be or not. */
  readonly decided: () => void
  /** After each commit, before anybody hears of it. */
  readonly committed: () => Promise<void>
  readonly kill: (program: Program) => void
}

type Hear = Parameters<Store['listen']>[0]
type Heard = Parameters<Hear>[0]
type Work = (tx: Tx) => Promise<unknown>

const endings = [
  'commits',
  'commits and dies',
  'fails to commit',
  'gets no answer to a commit that was done',
  'gets no answer to a commit that is still being done',
] as const

const fates = ['does the commit', 'does not do the commit'] as const

class RolledBack extends Error {}

export class Database {
  readonly #options: DatabaseOptions
  readonly #program = new Program('the database', 'database')
  #isBusy = false
  /** A commit failed, or got no answer. */
  hasFailed = false

  constructor(options: DatabaseOptions) {
    this.#options = options
  }

  /** The store as that program has it. */
  of(program: Program): Store {
    return new Proxy(this.#options.store, {
      get: (target, name) => {
        if (name === 'transact')
          return (work: Work, options: object) => this.#transact(program, work, options)
        if (name === 'listen')
          return (heard: Hear) => target.listen((ids) => this.#tell(program, heard, ids))
        return Reflect.get(target, name)
      },
    })
  }

  /** News comes some time later, or is lost, or it is said that some may have been lost. */
  #tell(program: Program, hear: Hear, ids: Heard): void {
    const options = [
      { name: 'hears what was decided', run: () => hear(ids) },
      { name: 'does not hear what was decided', run: () => {} },
      { name: 'hears that it may have missed something', run: () => hear('all') },
    ] as const
    this.#options.steps.hold({ program, lane: `news of ${program.lane}`, options })
  }

  async #transact(program: Program, work: Work, options: object): Promise<unknown> {
    const isFree = (): boolean => !this.#isBusy
    if (!isFree()) await this.#options.steps.pause(program, 'begins a transaction', isFree)
    this.#isBusy = true
    const silence = Promise.withResolvers<never>()
    const whole = this.#run(program, work, options, () => silence.reject(unavailable()))
    try {
      return await Promise.race([whole, silence.promise])
    } catch (thrown) {
      throw thrown instanceof RolledBack ? unavailable() : thrown
    } finally {
      // Whoever has died never hears of it.
      if (!program.isAlive) await new Promise(() => {})
    }
  }

  async #run(
    program: Program,
    work: Work,
    options: object,
    beSilent: () => void,
  ): Promise<unknown> {
    const { store, committed } = this.#options
    let isAnswered = true
    let hasWritten = false
    try {
      const result = await store.transact(async (tx) => {
        const worked = await work(spied(tx, () => (hasWritten = true)))
        this.#options.decided()
        if (hasWritten) isAnswered = await this.#end(program, beSilent)
        return worked
      }, options)
      if (hasWritten) await committed()
      if (!isAnswered) throw unavailable()
      return result
    } finally {
      this.#isBusy = false
    }
  }

  /** Resolves when it is to be committed, with whether that is answered. Throws when it is to be rolled back. */
  async #end(program: Program, beSilent: () => void): Promise<boolean> {
    const { steps, kill } = this.#options
    const picked = await Promise.race([steps.choose(program, endings), program.ended])
    if (picked === 'commits') return true
    this.hasFailed = true
    switch (picked) {
      case 'commits and dies':
        kill(program)
        return true
      case 'gets no answer to a commit that was done':
        return false
      case 'gets no answer to a commit that is still being done':
        beSilent()
        if ((await steps.choose(this.#program, fates)) === 'does the commit') return true
        throw new RolledBack()
      default:
        throw new RolledBack()
    }
  }
}

function unavailable(): SallyportError {
  return new SallyportError('store_unavailable')
}

const reads: ReadonlySet<PropertyKey> = new Set([
  ...['get', 'getMany', 'byCall', 'ofExecutions', 'list', 'count', 'waiting', 'overdue'],
  ...['abandoned', 'dispatchingOf', 'unfinishedOf', 'twins', 'identical', 'unknownOf'],
  ...['lock', 'lockAuthority', 'lockForChange', 'holdWriteKeys', 'countPending', 'countPassed'],
  ...['now', 'byName', 'ofProfile'],
])

/** Tells when anything is done in a transaction that a rollback would undo. */
function spied<T extends object>(parts: T, written: () => void): T {
  return new Proxy(parts, {
    get: (target, name) => {
      const part = Reflect.get(target, name)
      if (typeof part === 'object' && part !== null) return spied(part, written)
      if (typeof part !== 'function') return part
      return (...given: unknown[]) => {
        const isNothing = Array.isArray(given[0]) && given[0].length === 0
        if (!reads.has(name) && !isNothing) written()
        return Reflect.apply(part, target, given)
      }
    },
  })
}
