/** The worker of this data folder, the link to it, and the way of a call over that link. */
import type { Journal } from '@sallyport/core'
import type { IdSource, InstanceId } from '@sallyport/protocol'
import { release } from '@sallyport/protocol'
import { type Hello, wireVersion } from '@sallyport/protocol/node'
import type { Metrics } from '../metrics.ts'
import { LinkedWorkerAdmin } from '../worker/admin.ts'
import { systemClock } from '../worker/clock.ts'
import { WorkerLink } from '../worker/link.ts'
import type { Log } from '../worker/log.ts'
import { WorkerSupervisor } from '../worker/supervisor.ts'
import { build } from './build.ts'
import { type CallPath, createCallPath } from './call-path.ts'
import type { Doors } from './doors.ts'
import type { Foundations } from './foundations.ts'
import type { UpOptions } from './options.ts'
import type { Undo } from './undo.ts'

export interface WorkerSide {
  readonly supervisor: WorkerSupervisor
  readonly link: WorkerLink
  readonly admin: LinkedWorkerAdmin
  readonly path: CallPath
  /** Resolves after the worker's hello. Rejects with `worker_down`, `wrong_release`, `clock_skew`. */
  start(undo: Undo): Promise<void>
}

export interface WorkerSideDeps {
  readonly foundations: Foundations
  readonly journal: Journal
  readonly doors: Doors
  readonly ids: IdSource
  readonly instance: InstanceId
  readonly metrics: Metrics
  readonly log: Log
  readonly observed: () => void
}

const helloMs = 20_000

export function createWorkerSide(options: UpOptions, deps: WorkerSideDeps): WorkerSide {
  const { foundations, journal, doors, ids, instance, metrics, log } = deps
  const { pki, store } = foundations
  const identity = {
    certificatePem: pki.gateway.certificatePem,
    privateKeyPem: pki.gateway.privateKeyPem,
    authorityPem: pki.authorityPem,
  }
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
  const supervisor = new WorkerSupervisor({
    ...common,
    dataDir: options.dataDir,
    workerFiles: pki.workerFiles,
    build,
    allowLocalUpstreams: options.localUpstreams,
    ...(options.vaultKeyFile === undefined ? {} : { vaultKeyFile: options.vaultKeyFile }),
  })
  const link = new WorkerLink({ ...common, address: supervisor.address })
  const certificateExpiresAt = Math.min(...Object.values(pki.expiresAt))
  const admin = new LinkedWorkerAdmin({ link, ids, now: Date.now, certificateExpiresAt })
  const provedGone = (worker: string): boolean => supervisor.provedGone(worker)
  const { observed } = deps
  const path = createCallPath({
    store,
    journal,
    worker: link,
    ids,
    instance,
    metrics,
    log,
    provedGone,
    observed,
  })
  return {
    supervisor,
    link,
    admin,
    path,
    start: async (undo) => {
      undo.push(() => supervisor.stop())
      await supervisor.start()
      undo.push(() => link.stop())
      link.start(path.events)
      await link.whenUp(helloMs)
    },
  }
}
