import type { Checkpoints, Deps, Destinations, InFlight, Settings, Toolsets } from '@sallyport/core'
import type { Listener } from '../http/allowed-hosts.ts'
import type { Metrics } from '../metrics.ts'
import type { Log } from '../worker/log.ts'
import type { WorkerAdmin } from './worker-admin.ts'

/** What the control API is built from. */
export interface ApiDeps extends Deps, ProbeDeps {
  /** ms since 1970; judges the age of tokens. */
  readonly now: () => number
  readonly log: Pick<Log, 'info' | 'error'>
  readonly inFlight: InFlight
  readonly checkpoints: Pick<Checkpoints, 'write' | 'newest'>
  readonly settings: Settings
  readonly toolsets: Toolsets
  readonly destinations: Destinations
  /** Without a path, as guests reach it. Known once the guest listener is bound. */
  guestUrl(): string
  /** The control listener, once it is bound. */
  listener(): Listener
  /** Throws `data_not_writable`. */
  checkDataFolder(): Promise<void>
}

/** What the probes and the status show. */
export interface ProbeDeps {
  readonly store: Deps['store']
  readonly worker: WorkerAdmin
  readonly metrics: Metrics
  readonly self: {
    readonly release: string
    readonly build: string
    readonly instance: string
    readonly startedAt: number
  }
}
