/** What the control API asks of the worker. It opens nothing itself: listings and keys are all it gets. */
import type { Connection, Credential } from '@sallyport/core'
import type { Listing, VaultPublicKey } from '@sallyport/protocol/node'

export interface WorkerInfo {
  readonly state: 'up' | 'down'
  /** Null while the worker is down. */
  readonly instance: string | null
  readonly release: string | null
  readonly build: string | null
  readonly pid: number | null
  /** When the first certificate of the link ends, ms since 1970; null when that is not known. */
  readonly certificateExpiresAt: number | null
}

export interface WorkerAdmin {
  /**
   * Connects to the upstream and lists its tools, within the worker's own limits. Rejects with SallyportError: an
   * `upstream_*` code, `too_many_tools`, what is wrong with the seals, or `worker_down`.
   */
  list(connection: Connection, credential: Credential | undefined): Promise<Listing>
  /** Upstream state of the connection is no longer needed. Does nothing while the worker is down. */
  release(connectionId: Connection['id']): void
  /** The key that secrets are sealed to. Throws `worker_down`. */
  vaultKey(): VaultPublicKey
  info(): WorkerInfo
}
