/** The keys that a worker holds: which of them seals, which open, and which are gone. */
import { SallyportError } from '@sallyport/protocol'
import { maxStartWithin, type VaultKey, type VaultState } from '@sallyport/protocol/node'
import { skewMs } from '../intent/verify-batch.ts'
import type { KeySource } from './key-source.ts'
import type { FoundKeys, HeldVaultKey } from './key-text.ts'

export interface KeyRingOptions {
  readonly source: KeySource
  /** Milliseconds on a clock that never steps. */
  readonly monotonic: () => number
}

interface Leaving {
  readonly key: HeldVaultKey
  readonly until: number
}

/** Whoever may order new keys may not fill the disk with them. */
const heldAtMost = 16
/** What was sealed to a key until now may be on its way here, in orders that were signed before it was retired. */
const leavingMs = maxStartWithin + skewMs

export class KeyRing {
  readonly #source: KeySource
  readonly #monotonic: () => number
  readonly #listeners = new Set<() => void>()
  #held: readonly HeldVaultKey[]
  #retired: ReadonlySet<string>
  #leaving: readonly Leaving[] = []
  #looking: Promise<void> | undefined
  #restsUntil = Number.NEGATIVE_INFINITY

  constructor({ source, monotonic }: KeyRingOptions, { keys, retired }: FoundKeys) {
    this.#source = source
    this.#monotonic = monotonic
    this.#held = keys
    this.#retired = new Set(retired)
  }

  /** Rejects with `vault_key_unusable`. */
  static async open(options: KeyRingOptions): Promise<KeyRing> {
    return new KeyRing(options, await options.source.read())
  }

  /** What opens seals, the newest first. */
  get keys(): readonly VaultKey[] {
    return this.#leaving.length === 0
      ? this.#held
      : [...this.#held, ...this.#leaving.map(({ key }) => key)]
  }

  get retired(): ReadonlySet<string> {
    return this.#retired
  }

  /** What seals. */
  get newest(): HeldVaultKey {
    const [newest] = this.#held
    if (!newest) throw new TypeError('a vault without a key')
    return newest
  }

  get state(): VaultState {
    return {
      source: this.#source.kind,
      keys: this.#held.map(({ kid, jwk, madeAt }) => ({ kid, jwk, madeAt })),
      retired: [...this.#retired],
    }
  }

  /** Called after every change. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Looks again where the keys come from. Rejects with `vault_key_unusable`; then what was held stays. */
  async read(): Promise<VaultState> {
    this.#looking ??= this.#readSource().finally(() => {
      this.#looking = undefined
    })
    await this.#looking
    return this.state
  }

  /**
   * Somebody met a key that is not known: another worker may have made it, so this looks at the source. True when
   * trying again makes sense.
   */
  async look(): Promise<boolean> {
    if (this.#monotonic() < this.#restsUntil) return false
    return await this.read().then(
      () => true,
      // The caller tells what it met; what was held is held on.
      () => false,
    )
  }

  /**
   * A new key seals from now on. Where the source cannot be written, the new key is the one that somebody else put first
   * there; `vault_key_fixed` when nobody did. `too_many` while the keys before are not let go.
   */
  async rotate(): Promise<VaultState> {
    if (this.#held.length >= heldAtMost) throw new SallyportError('too_many')
    const { kid } = this.newest
    try {
      await this.#source.create()
    } catch (thrown) {
      await this.read()
      if (this.newest.kid === kid) throw thrown
    }
    return await this.read()
  }

  /**
   * A key that no seal needs goes from its source at once, and from here when nothing can be on its way any more. Where
   * the source cannot be written, it goes from here alone. `conflict` for the one that seals.
   */
  async retire(kid: string): Promise<VaultState> {
    if (kid === this.newest.kid) throw new SallyportError('conflict')
    try {
      await this.#source.remove(kid)
    } catch (thrown) {
      if (!(thrown instanceof SallyportError) || thrown.code !== 'vault_key_fixed') throw thrown
    }
    this.#leave(kid)
    return this.state
  }

  /** Forgets what has left. Called every second. */
  sweep(): void {
    if (this.#leaving.length === 0) return
    const now = this.#monotonic()
    this.#leaving = this.#leaving.filter(({ until }) => now < until)
    if (this.#leaving.length === 0) this.#changed()
  }

  async #readSource(): Promise<void> {
    try {
      const { keys, retired } = await this.#source.read()
      const gone = this.#held.filter(({ kid }) => retired.includes(kid))
      this.#take(keys, retired)
      for (const key of gone) this.#keepFor(key)
    } finally {
      this.#restsUntil = this.#monotonic() + this.#source.restMs
    }
  }

  /** A key that a source has lost is held on: what it sealed cannot be opened otherwise. */
  #take(keys: readonly HeldVaultKey[], retired: readonly string[]): void {
    const before = JSON.stringify(this.state)
    const known = new Map(this.#held.map((key) => [key.kid, key]))
    this.#retired = new Set([...this.#retired, ...retired])
    const found = keys.filter(({ kid }) => !this.#retired.has(kid))
    for (const { kid } of found) known.delete(kid)
    const lost = [...known.values()].filter(({ kid }) => !this.#retired.has(kid))
    this.#held = [...found, ...lost]
    if (JSON.stringify(this.state) !== before) this.#changed()
  }

  #leave(kid: string): void {
    const key = this.#held.find((one) => one.kid === kid)
    this.#held = this.#held.filter((one) => one.kid !== kid)
    this.#retired = new Set([...this.#retired, kid])
    if (key) this.#keepFor(key)
    this.#changed()
  }

  #keepFor(key: HeldVaultKey): void {
    this.#leaving = [...this.#leaving, { key, until: this.#monotonic() + leavingMs }]
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}
