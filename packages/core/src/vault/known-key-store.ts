import type { KnownKey } from './known-key.ts'

export interface KnownKeyReads {
  /** Newest first. */
  list(): Promise<KnownKey[]>
}

export interface KnownKeyWrites extends KnownKeyReads {
  /**
   * The key as it is, kept from being changed until this transaction ends; many may hold one. Undefined when it is not
   * known. Whoever writes a seal holds its key, so that none is retired while a seal to it is on its way.
   */
  hold(kid: string): Promise<KnownKey | undefined>
  /** The same, alone: waits for everybody who holds it. */
  lock(kid: string): Promise<KnownKey | undefined>
  /** False when it is known already. */
  insert(key: KnownKey): Promise<boolean>
  /** Replaces the row of that kid. */
  update(key: KnownKey): Promise<void>
}
