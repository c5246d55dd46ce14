/**
 * Keeps what gateways know of the vault's keys and what their workers hold in step, and carries a rotation to its end: what
 * is sealed to an older key is sealed again, little by little, and a key that nothing is sealed to is retired. All of it
 * begins again from what is stored, so that it does not matter where a crash came.
 */
import {
  type KnownKey,
  noteLostSeals,
  registerKeys,
  retireKey,
  type Store,
  type StuckSeal,
  sweepSeals,
} from '@sallyport/core'
import { SallyportError, toSallyportError } from '@sallyport/protocol'
import type { HeldKey, VaultState } from '@sallyport/protocol/node'
import type { Clock } from '../worker/clock.ts'
import type { Log } from '../worker/log.ts'
import type { VaultPort } from './vault-port.ts'

export interface KeyKeeperDeps {
  readonly store: Store
  readonly vault: VaultPort
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Of the keys that are known, and of what this gateway's worker holds. */
export interface KeyView {
  readonly held: VaultState
  /** Newest first. */
  readonly known: readonly KnownKey[]
  readonly sealing: HeldKey
  /** Of the last pass. */
  readonly stuck: readonly StuckSeal[]
}

/** Between two handfuls of seals: calls go first. */
const pauseMs = 20
/** What did not open does not open a second later. */
const stuckRestMs = 60_000
/** A key that this worker does not have may still be brought to it; whoever meets it has it look at once. */
const missingRestMs = 600_000

export class KeyKeeper {
  readonly #deps: KeyKeeperDeps
  #known: readonly KnownKey[] = []
  #lost = ''
  #stuck: readonly StuckSeal[] = []
  #restsUntil = 0
  /** By kid, until when the worker is not asked again. */
  readonly #asked = new Map<string, number>()
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(deps: KeyKeeperDeps) {
    this.#deps = deps
  }

  /** Learns what the worker holds. Nothing while there is none. */
  async look(): Promise<void> {
    const { store, vault } = this.#deps
    if (!vault.state()) return
    await this.#askForMissing()
    const held = vault.state()
    if (!held) return
    this.#known = await registerKeys(store, held)
    await this.#noteLost()
    await this.#dropRetired(held)
  }

  /** One look, and a pass over what has to be sealed again. A call during one joins it. */
  round(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** A pass that is under way ends soon. */
  stop(): void {
    this.#isStopped = true
  }

  /** A new key seals from now on; rounds do the rest. Rejects with `worker_down`, `vault_key_fixed`. */
  async rotate(): Promise<void> {
    const held = await this.#deps.vault.rotate()
    this.#known = await registerKeys(this.#deps.store, held)
    this.#restsUntil = 0
    this.#deps.log.info({ kid: held.keys[0]?.kid }, 'a new vault key seals from now on')
  }

  /** Throws `worker_down`. */
  view(): KeyView {
    const held = this.#deps.vault.state()
    const sealing = held && this.#sealing(held)
    if (!held || !sealing) throw new SallyportError('worker_down')
    return { held, known: this.#known, sealing, stuck: this.#stuck }
  }

  async #round(): Promise<void> {
    try {
      await this.look()
      await this.#sweep()
    } catch (thrown) {
      const { code } = toSallyportError(thrown)
      // It is started again, and this goes on where it was.
      if (code !== 'worker_down' && code !== 'shutting_down') throw thrown
    }
  }

  /** The newest that is known, of those that the worker holds: whatever is sealed to it, the worker opens. */
  #sealing({ keys }: VaultState): HeldKey | undefined {
    const newest = this.#open().find(({ kid }) => keys.some((key) => key.kid === kid))
    return keys.find(({ kid }) => kid === newest?.kid) ?? keys[0]
  }

  #open(): readonly KnownKey[] {
    return this.#known.filter(({ state }) => state === 'open')
  }

  /** Another worker of the deployment may have made a key that this one has not seen yet. */
  async #askForMissing(): Promise<void> {
    const { store, vault, clock } = this.#deps
    const known = await store.vaultKeys.list()
    const held = new Set(vault.state()?.keys.map(({ kid }) => kid))
    const now = clock.now()
    const missing = known.filter(
      ({ kid, state }) => state === 'open' && !held.has(kid) && (this.#asked.get(kid) ?? 0) <= now,
    )
    if (missing.length === 0) return
    for (const { kid } of missing) this.#asked.set(kid, now + missingRestMs)
    await vault.read()
  }

  /** After a backup was restored, secrets may be sealed to keys that are gone. */
  async #noteLost(): Promise<void> {
    const retired = this.#known.filter(({ state }) => state === 'retired').map(({ kid }) => kid)
    const lost = retired.join(' ')
    if (lost === this.#lost) return
    await noteLostSeals(this.#deps.store, new Set(retired))
    this.#lost = lost
  }

  async #dropRetired({ keys }: VaultState): Promise<void> {
    const retired = this.#known.filter(({ state }) => state === 'retired')
    const [newest] = keys
    for (const { kid } of retired)
      if (kid !== newest?.kid && keys.some((key) => key.kid === kid)) await this.#drop(kid)
  }

  async #drop(kid: string): Promise<void> {
    const { vault, log } = this.#deps
    const { source } = await vault.retire(kid)
    const next = source === 'file' ? {} : { next: 'take it away where it comes from' }
    log.info({ kid, ...next }, 'the worker has let go of a retired vault key')
  }

  async #sweep(): Promise<void> {
    const { store, vault, clock, log } = this.#deps
    const held = vault.state()
    const [newest, ...older] = this.#open()
    const holds = (kid: string | undefined) => held?.keys.some((key) => key.kid === kid) ?? false
    const old = older.filter(({ kid }) => holds(kid)).map(({ kid }) => kid)
    if (!newest || !holds(newest.kid) || old.length === 0 || clock.now() < this.#restsUntil) return
    const sweep = { toKid: newest.kid, oldKids: new Set(old) }
    const reseal: VaultPort['reseal'] = (seal, toKid) => vault.reseal(seal, toKid)
    this.#stuck = await sweepSeals({ store, reseal, pause: () => this.#pause() }, sweep)
    for (const kid of old) {
      if (!(await retireKey(store, kid))) continue
      log.info({ kid }, 'nothing is sealed to this vault key any more: it is retired')
      await this.#drop(kid)
    }
    this.#known = await store.vaultKeys.list()
    if (this.#stuck.length === 0) return
    this.#restsUntil = clock.now() + stuckRestMs
    log.warn({ stuck: this.#stuck.length }, 'secrets could not be sealed to the new vault key')
  }

  #pause(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#deps.clock.after(pauseMs, () => {
        if (this.#isStopped) reject(new SallyportError('shutting_down'))
        else resolve()
      })
    })
  }
}
