/** What a running gateway does from time to time: its lease, recovery, sessions that are over, settings of others. */
import {
  type Checkpoints,
  endOverdueSessions,
  leaseMs,
  leaseRenewMs,
  type Settings,
  type Store,
} from '@sallyport/core'
import { type InstanceId, toSallyportError } from '@sallyport/protocol'
import type { GuestEndpoint } from '../mcp/guest-endpoint.ts'
import type { Log } from '../worker/log.ts'
import type { CallPath } from './call-path.ts'
import type { ToolWatch } from './tool-watch.ts'

export interface ChoresDeps {
  readonly store: Store
  readonly path: CallPath
  readonly checkpoints: Checkpoints
  readonly settings: Settings
  readonly watch: ToolWatch
  readonly endpoint: GuestEndpoint
  readonly instance: InstanceId
  readonly startedAt: number
  readonly log: Log
}

const recoverEveryMs = 500
const lookEveryMs = 1_000
const sweepEveryMs = 5_000
const checkpointEveryMs = 60_000

/** Resolves once the lease is held and what earlier instances left was taken over. */
export async function startChores(deps: ChoresDeps): Promise<{ stop(): Promise<void> }> {
  const { store, path, checkpoints, settings, watch, endpoint, instance, startedAt, log } = deps
  const lease = { id: instance, startedAt }
  if (store.engine === 'sqlite') await endEarlierLeases(store)
  await store.transact(async (tx) =>
    tx.instances.renew({ ...lease, leaseUntil: (await tx.now()) + leaseMs }),
  )
  await path.recovery.adopt()
  // Also of what earlier instances appended and did not live to see in a checkpoint.
  await checkpoints.write()

  const sweep = async (): Promise<void> => {
    await path.recovery.adopt()
    await settings.refresh()
    const now = await store.transact((tx) => tx.now(), { flush: 'later' })
    const ended = await endOverdueSessions(store, path.desk, now, (session, error) => {
      log.error({ session, error: String(error) }, 'session not ended')
    })
    if (ended.length > 0) endpoint.sessionsEnded(ended)
  }
  const chores = [
    every(leaseRenewMs, 'lease', log, async () => path.group.renew(lease)),
    every(recoverEveryMs, 'recovery', log, () => path.recovery.round()),
    every(lookEveryMs, 'tools', log, async () => watch.look()),
    every(sweepEveryMs, 'sweep', log, sweep),
    every(checkpointEveryMs, 'checkpoint', log, () => checkpoints.write()),
  ]
  return {
    stop: async () => {
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

/** Runs again `ms` after the last run ended; a failure is logged and tried again. */
function every(ms: number, where: string, log: Log, work: () => Promise<unknown>) {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()
  const plan = (): void => {
    if (isStopped) return
    timer = setTimeout(() => {
      running = work()
        .catch((error: unknown) => {
          const { code, cause } = toSallyportError(error)
          log.error({ where, code, cause: String(cause) }, 'chore failed')
        })
        .finally(plan)
    }, ms)
  }
  plan()
  return {
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
