/**
 * What a running gateway does from time to time: its lease, recovery, approvals and sessions that are over, bodies that are
 * due, sign-ins that were left, webhooks, keys of the vault, certificates, settings of others.
 */
import {
  type Checkpoints,
  endLeftSignIns,
  endLostOwners,
  endOverdueSessions,
  expireApprovals,
  type Journal,
  leaseMs,
  leaseRenewMs,
  type Refresher,
  type Settings,
  type Store,
  sweepBodies,
  tellConditions,
} from '@sallyport/core'
import { type IdSource, type InstanceId, toSallyportError } from '@sallyport/protocol'
import type { DenyDesk } from '../deny/deny-desk.ts'
import type { GuestEndpoint } from '../mcp/guest-endpoint.ts'
import type { Metrics } from '../metrics.ts'
import type { LivePki } from '../pki/live-pki.ts'
import type { GuestWays } from '../relay/guest-ways.ts'
import type { KeyKeeper } from '../vault/key-keeper.ts'
import type { Courier } from '../webhooks/courier.ts'
import type { Log } from '../worker/log.ts'
import type { CallPath } from './call-path.ts'
import { isOwnerGone } from './owner-gone.ts'
import type { ToolWatch } from './tool-watch.ts'

export interface ChoresDeps {
  readonly store: Store
  readonly journal: Journal
  readonly metrics: Metrics
  readonly path: CallPath
  readonly keys: KeyKeeper
  readonly certificates: Pick<LivePki, 'round'>
  readonly refresher: Refresher
  readonly checkpoints: Checkpoints
  readonly courier: Courier
  readonly settings: Settings
  readonly watch: ToolWatch
  readonly guestWays: Pick<GuestWays, 'look'>
  readonly denySets: Pick<DenyDesk, 'round'>
  readonly ids: IdSource
  readonly endpoint: GuestEndpoint
  readonly instance: InstanceId
  readonly startedAt: number
  readonly log: Log
}

const recoverEveryMs = 500
const lookEveryMs = 1_000
const expireEveryMs = 1_000
const ownersEveryMs = 1_000
const deliverEveryMs = 1_000
const keysEveryMs = 1_000
const refreshEveryMs = 2_000
const denySetEveryMs = 1_000
const healthEveryMs = 5_000
const sweepEveryMs = 5_000
const checkpointEveryMs = 60_000
const retentionEveryMs = 3_600_000
const certificatesEveryMs = 6 * 3_600_000

/** Resolves once the lease is held and what earlier instances left was taken over. */
export async function startChores(deps: ChoresDeps): Promise<{ stop(): Promise<void> }> {
  const { store, path, keys, certificates, refresher, checkpoints, courier, settings } = deps
  const { watch, guestWays, denySets, endpoint, instance, startedAt, log } = deps
  const lease = { id: instance, startedAt }
  if (store.engine === 'sqlite') await endEarlierLeases(store)
  await store.transact(async (tx) =>
    tx.instances.renew({ ...lease, leaseUntil: (await tx.now()) + leaseMs }),
  )
  await path.recovery.adopt()
  // Also of what earlier instances appended and did not live to see in a checkpoint.
  await checkpoints.write()

  const notEnded = (session: string, error: unknown): void =>
    log.error({ session, error: String(error) }, 'session not ended')
  const signInNotEnded = (flow: string, error: unknown): void =>
    log.error({ flow, error: String(error) }, 'sign-in not ended')
  const since = await databaseTime(store)
  const owners = async (): Promise<void> => {
    const now = await databaseTime(store)
    const watched = { isProvedGone: isOwnerGone, since, now, onFailure: notEnded }
    const ended = await endLostOwners(deps, path.desk, watched)
    if (ended.length > 0) endpoint.sessionsEnded(ended)
  }
  const sweep = async (): Promise<void> => {
    await path.recovery.adopt()
    await path.orphans.look()
    await settings.refresh()
    const ended = await endOverdueSessions(deps, path.desk, await databaseTime(store), notEnded)
    if (ended.length > 0) endpoint.sessionsEnded(ended)
  }
  const expire = async () => expireApprovals(deps, await databaseTime(store))
  const every = (ms: number, where: string, work: () => Promise<unknown>, firstMs = ms) =>
    repeat({ ms, firstMs, where, work, deps })
  const chores = [
    every(leaseRenewMs, 'lease', async () => path.group.renew(lease)),
    every(recoverEveryMs, 'recovery', () => path.recovery.round()),
    every(lookEveryMs, 'tools', async () => watch.look()),
    every(lookEveryMs, 'guest ways', () => guestWays.look()),
    every(expireEveryMs, 'approvals', expire),
    every(ownersEveryMs, 'owners', owners),
    every(sweepEveryMs, 'sweep', sweep),
    every(deliverEveryMs, 'webhooks', () => courier.round()),
    every(keysEveryMs, 'vault keys', () => keys.round()),
    every(refreshEveryMs, 'refresh', () => refresher.sweep()),
    every(refreshEveryMs, 'sign-ins', () => endLeftSignIns(deps, signInNotEnded)),
    every(denySetEveryMs, 'deny set', () => denySets.round()),
    every(healthEveryMs, 'health', () => tellConditions(deps)),
    every(checkpointEveryMs, 'checkpoint', () => checkpoints.write()),
    every(retentionEveryMs, 'retention', () => sweepBodies(store), 0),
    every(certificatesEveryMs, 'certificates', () => certificates.round()),
  ]
  return {
    stop: async () => {
      keys.stop()
      await Promise.all(chores.map((chore) => chore.stop()))
    },
  }
}

/** The embedded database has one gateway at a time, and this one holds its folder: whoever was before is gone. */
async function endEarlierLeases(store: Store): Promise<void> {
  await store.transact(async (tx) => {
    for (const { id } of await tx.instances.list()) await tx.instances.end(id)
  })
}

/** What expires is judged by one clock, however many gateways there are. */
function databaseTime(store: Store): Promise<number> {
  return store.transact((tx) => tx.now(), { flush: 'later' })
}

interface Repeated {
  readonly ms: number
  readonly firstMs: number
  readonly where: string
  readonly work: () => Promise<unknown>
  readonly deps: Pick<ChoresDeps, 'log' | 'metrics'>
}

/** Runs again `ms` after the last run ended; a failure is logged, counted and tried again. */
function repeat({ ms, firstMs, where, work, deps: { log, metrics } }: Repeated) {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()
  const plan = (afterMs: number): void => {
    if (isStopped) return
    timer = setTimeout(() => {
      running = work()
        .catch((error: unknown) => {
          const { code, cause } = toSallyportError(error)
          metrics.choreFailed(where)
          log.error({ where, code, cause: String(cause) }, 'chore failed')
        })
        .finally(() => plan(ms))
    }, afterMs)
  }
  plan(firstMs)
  return {
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
