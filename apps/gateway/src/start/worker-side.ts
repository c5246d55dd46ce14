/** The worker of this data folder, the link to it, and the way of a call over that link. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Journal, Refresher, Revoker, type Toolsets } from '@sallyport/core'
import type { ErrorCode, IdSource, InstanceId } from '@sallyport/protocol'
import { release, SallyportError, toSallyportError } from '@sallyport/protocol'
import { type Hello, wireVersion } from '@sallyport/protocol/node'
import type { Metrics } from '../metrics.ts'
import { LivePki } from '../pki/live-pki.ts'
import { KeyKeeper } from '../vault/key-keeper.ts'
import { LinkedWorkerAdmin } from '../worker/admin.ts'
import { systemClock } from '../worker/clock.ts'
import { missingLayers } from '../worker/isolation/worker-wall.ts'
import { WorkerLink } from '../worker/link.ts'
import { LinkedOAuth } from '../worker/linked-oauth.ts'
import { LinkedVault } from '../worker/linked-vault.ts'
import type { Log } from '../worker/log.ts'
import { WorkerSupervisor } from '../worker/supervisor.ts'
import { standingWorker, type WorkerKeeper } from '../worker/worker-keeper.ts'
import { build } from './build.ts'
import { type CallPath, type CallPathDeps, createCallPath } from './call-path.ts'
import type { Doors } from './doors.ts'
import type { Foundations } from './foundations.ts'
import type { UpOptions } from './options.ts'
import type { Undo } from './undo.ts'

export interface WorkerSide {
  readonly supervisor: WorkerKeeper
  readonly certificates: LivePki
  readonly link: WorkerLink
  readonly admin: LinkedWorkerAdmin
  readonly oauth: LinkedOAuth
  readonly refresher: Refresher
  readonly revoker: Revoker
  readonly keys: KeyKeeper
  readonly path: CallPath
  /** Resolves after the worker's hello, when its keys are known. Rejects with `worker_not_started`, `wrong_release`, `clock_skew`. */
  start(undo: Undo): Promise<void>
}

export interface WorkerSideDeps {
  readonly foundations: Foundations
  readonly journal: Journal
  readonly toolsets: Toolsets
  readonly doors: Doors
  readonly ids: IdSource
  readonly instance: InstanceId
  readonly metrics: Metrics
  readonly log: Log
  readonly observed: () => void
}

const helloMs = 20_000

export function createWorkerSide(options: UpOptions, deps: WorkerSideDeps): WorkerSide {
  const { foundations, journal, toolsets, doors, ids, instance, metrics, log, observed } = deps
  const { pki, store, bodies } = foundations
  const certificates = new LivePki({ dataDir: options.dataDir, pki, log, now: Date.now })
  const { identity, expiresAt: certificateExpiresAt } = certificates
  const hello = (): Hello => ({
    wire: wireVersion,
    release,
    build,
    role: 'gateway',
    instance,
    now: Date.now(),
    pid: process.pid,
    ownListeners: [doors.control, doors.guest].flatMap(({ addresses, port }) =>
      addresses.map((host) => ({ host, port })),
    ),
  })
  const common = { identity, clock: systemClock, hello, log }
  const { workerFiles } = pki
  const keeper = options.worker
    ? standingWorker(options.worker)
    : new WorkerSupervisor({ ...common, workerFiles, ...supervision(options) })
  const { address } = keeper
  const link = new WorkerLink({ ...common, address, refuses: refuser(options) })
  const supervised = () => keeper.state()
  const linked = { link, ids, now: Date.now }
  const admin = new LinkedWorkerAdmin({ ...linked, supervised, certificateExpiresAt })
  const vault = new LinkedVault(linked)
  const oauth = createOAuth(link, keeper, deps)
  const keys = new KeyKeeper({ store, vault, clock: systemClock, log })
  const path = createCallPath({
    store,
    journal,
    worker: link,
    bodies,
    toolsets,
    ids,
    instance,
    metrics,
    log,
    provedGone: oauth.provedGone,
    observed,
    refresher: oauth.refresher,
  })
  return {
    supervisor: keeper,
    certificates,
    link,
    admin,
    ...oauth,
    keys,
    path,
    start: async (undo) => {
      undo.push(() => keeper.stop())
      await keeper.start().catch(notStarted)
      undo.push(() => link.stop())
      undo.push(() => path.stop())
      link.start(path.events)
      await link.whenUp(helloMs).catch(notStarted)
      await keys.look().catch(notStarted)
    },
  }
}

/** A worker that is down is started again by itself, but not by a gateway that does not start for it. */
function notStarted(thrown: unknown): never {
  const { code, cause } = toSallyportError(thrown)
  throw code === 'worker_down' ? new SallyportError('worker_not_started', { cause }) : thrown
}

function refuser({ workerIsolation }: UpOptions) {
  return (hello: Hello): ErrorCode | undefined =>
    missingLayers(workerIsolation, hello).length > 0 ? 'worker_not_isolated' : undefined
}

function supervision(options: UpOptions) {
  const { dataDir, localUpstreams, egress, workerIsolation, dataKeyFile, vaultKey } = options
  return {
    dataDir,
    build,
    allowLocalUpstreams: localUpstreams,
    egress,
    isolation: workerIsolation,
    readable: authoritiesIn(egress),
    hidden: dataKeyFile === undefined ? [] : [dataKeyFile],
    ...(vaultKey === undefined ? {} : { vaultKey }),
  }
}

/** The worker's flags are the worker's to read; but what it may read is said here. */
function authoritiesIn(egress: readonly string[]): readonly string[] {
  const flag = '--upstream-ca='
  return egress.filter((one) => one.startsWith(flag)).map((one) => one.slice(flag.length))
}

function createOAuth(
  link: WorkerLink,
  keeper: WorkerKeeper,
  { foundations, journal, ids, instance, log }: WorkerSideDeps,
): Pick<WorkerSide, 'oauth' | 'refresher' | 'revoker'> & Pick<CallPathDeps, 'provedGone'> {
  const provedGone = (worker: string): boolean => keeper.provedGone(worker)
  const oauth = new LinkedOAuth({ link, ids, now: Date.now, provedGone })
  const { store } = foundations
  const report = (error: unknown, where: string): void =>
    log.error({ where, error: String(error) }, 'oauth')
  const refresher = new Refresher({
    ...{ store, journal, oauth, instance, now: Date.now },
    pause: (ms) => sleep(ms, undefined, { ref: false }),
    report,
  })
  const revoker = new Revoker({ oauth, journal, report })
  return { oauth, refresher, revoker, provedGone }
}
