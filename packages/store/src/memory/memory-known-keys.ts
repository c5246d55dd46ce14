import type { KnownKey, KnownKeyWrites } from '@sallyport/core'
import type { MemoryRows } from './memory-rows.ts'

export class MemoryKnownKeys implements KnownKeyWrites {
  readonly #keys: MemoryRows<KnownKey>

  constructor(rows: { vaultKeys: MemoryRows<KnownKey> }) {
    this.#keys = rows.vaultKeys
  }

  async list(): Promise<KnownKey[]> {
    return this.#keys.all().sort((one, other) => other.position - one.position)
  }

  async hold(kid: string): Promise<KnownKey | undefined> {
    return this.#keys.get(kid)
  }

  async lock(kid: string): Promise<KnownKey | undefined> {
    return this.#keys.get(kid)
  }

  async insert(key: KnownKey): Promise<boolean> {
    const isTaken = this.#keys.all().some(({ position }) => position === key.position)
    if (this.#keys.get(key.kid) || isTaken) return false
    this.#keys.put(key)
    return true
  }

  async update(key: KnownKey): Promise<void> {
    if (this.#keys.get(key.kid)) this.#keys.put(key)
  }
}
