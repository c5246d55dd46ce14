/** Wires the way of a call: desk, group commit, recovery, and the worker's link. */
import {
  CallDesk,
  GroupCommit,
  type Journal,
  Recovery,
  type Store,
  sealDigests,
  type WorkerEvents,
  type WorkerPort,
} from '@sallyport/core'
import {
  type ConnectionId,
  type IdSource,
  type InstanceId,
  type IntentId,
  toSallyportError,
} from '@sallyport/protocol'
import type { ObservedHead } from '@sallyport/protocol/node'
import type { Metrics } from '../metrics.ts'
import type { Log } from '../worker/log.ts'

export interface CallPath {
  readonly desk: CallDesk
  readonly group: GroupCommit
  readonly recovery: Recovery
  readonly events: WorkerEvents
}

export interface CallPathDeps {
  readonly store: Store
  readonly journal: Journal
  readonly worker: WorkerPort
  readonly ids: IdSource
  readonly instance: InstanceId
  readonly metrics: Metrics
  readonly log: Log
  readonly provedGone: (instance: string) => boolean
  /** A listing of the worker was accepted. */
  readonly observed: () => void
}

export function createCallPath(deps: CallPathDeps): CallPath {
  const { store, journal, worker, ids, instance, metrics, log } = deps
  const report = (error: unknown, where: string): void => {
    const { code, cause } = toSallyportError(error)
    log.error({ code, where, cause: String(cause) }, 'call path')
  }
  const now = Date.now
  const group = new GroupCommit({
    journal,
    worker,
    ids,
    now,
    gateway: instance,
    sealDigest: sealDigests(),
    suspect: (rows) => recovery.suspect(rows),
    report,
    measure: (size) => metrics.barrierGroup(size),
  })
  const desk = new CallDesk({
    group,
    reads: store,
    worker,
    ids,
    now,
    gateway: instance,
    report,
    measure: ({ state, ms }) => metrics.callEnded(state, ms / 1000),
  })
  const recovery = new Recovery({
    store,
    journal,
    worker,
    desk,
    gateway: instance,
    now,
    provedGone: deps.provedGone,
    report,
  })
  const round = (): void => void recovery.round().catch((error) => report(error, 'recovery'))
  return {
    desk,
    group,
    recovery,
    events: {
      result: (head, raw) => {
        if (desk.onResult(head, raw)) recovery.forget(head.intent as IntentId)
      },
      progress: (head) => desk.onProgress(head),
      observed: (head) => {
        keepObserved(store, head).then(deps.observed, (error) => report(error, 'observed'))
      },
      lost: (lost) => {
        metrics.workerUp(worker.instance() !== undefined)
        recovery.lost(lost)
        round()
      },
      up: () => {
        metrics.workerUp(true)
        round()
      },
    },
  }
}

async function keepObserved(store: Store, head: ObservedHead): Promise<void> {
  await store.transact((tx) =>
    tx.connections.observe({ ...head, connectionId: head.connectionId as ConnectionId }),
  )
}
