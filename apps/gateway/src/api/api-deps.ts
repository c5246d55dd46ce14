import type {
  BodySealer,
  Checkpoints,
  Deps,
  Destinations,
  InFlight,
  OAuthWorker,
  Refresher,
  Settings,
  Toolsets,
} from '@sallyport/core'
import type { InstanceId } from '@sallyport/protocol'
import type { CoreDumps } from '@sallyport/protocol/node'
import type { DenyDesk } from '../deny/deny-desk.ts'
import type { Listener } from '../http/allowed-hosts.ts'
import type { GuestEndpoint } from '../mcp/guest-endpoint.ts'
import type { Metrics } from '../metrics.ts'
import type { GuestWays } from '../relay/guest-ways.ts'
import type { KeyKeeper } from '../vault/key-keeper.ts'
import type { Log } from '../worker/log.ts'
import type { WorkerAdmin } from './worker-admin.ts'

/** What the control API is built from. */
export interface ApiDeps extends Deps, ProbeDeps {
  /** This gateway. */
  readonly instance: InstanceId
  /** Resolves when what its guests were answered is on record: whoever asks here finds it. */
  caughtUp(): Promise<void>
  /** ms since 1970; judges the age of tokens. */
  readonly now: () => number
  readonly log: Pick<Log, 'info' | 'error'>
  readonly inFlight: InFlight
  readonly checkpoints: Pick<Checkpoints, 'write' | 'newest'>
  readonly bodies: BodySealer
  readonly settings: Settings
  readonly toolsets: Toolsets
  readonly destinations: Destinations
  readonly denySets: Pick<DenyDesk, 'changed' | 'settle'>
  readonly guestWays: Pick<GuestWays, 'check' | 'open'>
  /** Names of the tools that the guest of a session was shown by this gateway. */
  readonly shownTools: GuestEndpoint['shown']
  readonly oauth: Pick<OAuthWorker, 'begin' | 'finish' | 'revoke'>
  readonly refresher: Pick<Refresher, 'refresh'>
  readonly vault: Pick<KeyKeeper, 'view' | 'rotate'>
  /** Without a path, as guests reach it. Known once the guest listener is bound. */
  guestUrl(): string
  /** Where browsers reach the control listener, without a path. */
  publicUrl(): string
  /** The control listener, once it is bound. */
  listener(): Listener
  /** May memory of this process get into a core dump? */
  coreDumps(): CoreDumps
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
