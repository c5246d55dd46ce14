/** For tests: keys that several workers share, in memory. */
import { SallyportError } from '@sallyport/protocol'
import { KeyRing } from '../vault/key-ring.ts'
import type { KeySource } from '../vault/key-source.ts'
import { type FoundKeys, type HeldVaultKey, makeKey } from '../vault/key-text.ts'

export class MemorySource implements KeySource {
  readonly kind = 'file'
  restMs = 0
  /** Newest first. */
  keys: HeldVaultKey[]
  retired: string[] = []
  /** How often it was read. */
  reads = 0
  isFixed = false

  constructor(...keys: HeldVaultKey[]) {
    this.keys = keys
  }

  async read(): Promise<FoundKeys> {
    this.reads++
    if (this.keys.length === 0) throw new SallyportError('vault_key_unusable')
    return { keys: [...this.keys], retired: [...this.retired] }
  }

  async create(): Promise<HeldVaultKey> {
    if (this.isFixed) throw new SallyportError('vault_key_fixed')
    const key = makeKey(this.keys.length)
    this.keys.unshift(key)
    return key
  }

  async remove(kid: string): Promise<void> {
    if (this.isFixed) throw new SallyportError('vault_key_fixed')
    this.keys = this.keys.filter((key) => key.kid !== kid)
    this.retired.push(kid)
  }

  /** Holds what is there now. */
  ring(monotonic: () => number = () => 0): KeyRing {
    const found = { keys: [...this.keys], retired: [...this.retired] }
    return new KeyRing({ source: this, monotonic }, found)
  }
}
