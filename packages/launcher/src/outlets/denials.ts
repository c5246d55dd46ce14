/** The deny set that is in force for a guest, with the addresses behind its names. It only grows until the guest ends. */
import { isIP } from 'node:net'
import { type DenySet, deniedNames, isDenied } from '@sallyport/protocol'
import { addressesOf, type DeniablePlace, type Resolve } from './reach.ts'

/** Old enough to be asked for again: who is behind a name changes. */
const freshMs = 15_000

export class Denials {
  readonly #resolve: Resolve
  readonly #onGrown: () => void
  #set: DenySet = { revision: 0, digest: '', entries: [] }
  /** Of all sets so far: what was denied stays denied. */
  readonly #entries = new Map<string, DenySet['entries'][number]>()
  /** By name of the set, every address that was ever seen behind it. */
  readonly #behind = new Map<string, Set<string>>()
  #askedAt = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined

  /** `onGrown`: what is open may have to be closed. Called before `replace` resolves. */
  constructor({ resolve, onGrown }: { readonly resolve: Resolve; readonly onGrown: () => void }) {
    this.#resolve = resolve
    this.#onGrown = onGrown
  }

  get revision(): number {
    return this.#set.revision
  }

  /** In force by name at once, and by address when it resolves. Only then may it be confirmed. */
  async replace(set: DenySet): Promise<void> {
    this.#set = set
    for (const entry of set.entries) this.#entries.set(`${entry.host} ${entry.port}`, entry)
    this.#onGrown()
    this.#askedAt = Number.NEGATIVE_INFINITY
    // What is on its way was asked for an earlier set.
    await this.#asking
    await this.refresh()
  }

  /** Asks again who is behind the denied names, when that was long ago. Never rejects. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#askedAt < freshMs) return
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    await this.#asking
  }

  /** What is said to this place is the guest's own: it may be meant for whoever else is at that address. */
  denies(place: DeniablePlace): boolean {
    const { port, address } = place
    if (this.deniesByName(place)) return true
    const names = deniedNames(this.#all(), port)
    return address !== undefined && names.some((name) => this.#behind.get(name)?.has(address))
  }

  /** Who is spoken to there is said by us (a certificate is asked for, a name is given): that others live there is no matter. */
  deniesByName({ host, port, address }: DeniablePlace): boolean {
    const isIn = (one: string): boolean => isDenied(this.#all(), one, port)
    return isIn(host) || (address !== undefined && isIn(address))
  }

  #all(): Pick<DenySet, 'entries'> {
    return { entries: [...this.#entries.values()] }
  }

  async #ask(): Promise<void> {
    const names = deniedNames(this.#all()).filter((name) => isIP(name) === 0)
    await Promise.all(names.map((name) => this.#learn(name)))
    this.#askedAt = performance.now()
    this.#onGrown()
  }

  async #learn(name: string): Promise<void> {
    const known = this.#behind.get(name) ?? new Set()
    this.#behind.set(name, known)
    try {
      for (const address of await addressesOf(this.#resolve, name)) known.add(address)
    } catch {
      // Nobody is behind it now; who was is still known, and by its name it is denied all the same.
    }
  }
}
