/** Where the vault key comes from. */
import type { VaultSource } from '@sallyport/protocol'
import type { FoundKeys, HeldVaultKey } from './key-text.ts'

export interface KeySource {
  readonly kind: VaultSource
  /** How long whoever meets an unknown key waits before it may look here again, in milliseconds. */
  readonly restMs: number
  /**
   * What is there now, at least one key; a source that may be written makes the first one. Rejects with
   * `vault_key_unusable`.
   */
  read(): Promise<FoundKeys>
  /** Makes a key beside the others. It is on the disk when this resolves. Rejects with `vault_key_fixed`. */
  create(): Promise<HeldVaultKey>
  /** Takes a key away for good, leaving its name. Also when it is gone already. Rejects with `vault_key_fixed`. */
  remove(kid: string): Promise<void>
}
