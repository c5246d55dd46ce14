import type { StoredSeal } from '@sallyport/core'
import type { VaultState } from '@sallyport/protocol/node'

/** The keys of the worker that is connected. Everything rejects with `worker_down` when there is none. */
export interface VaultPort {
  /** What it said last; undefined while there is none. */
  state(): VaultState | undefined
  /** Has it look again where its keys come from. Rejects with `vault_key_unusable`. */
  read(): Promise<VaultState>
  /** Has it make a new key, which is durable when this resolves. Rejects with `vault_key_fixed`. */
  rotate(): Promise<VaultState>
  /** Has it let go of a key for good. Rejects with `conflict` for the one that seals. */
  retire(kid: string): Promise<VaultState>
  /** The same secret for the same place, sealed to another key. Rejects with `seal_*`. */
  reseal(seal: StoredSeal, toKid: string): Promise<string>
}
