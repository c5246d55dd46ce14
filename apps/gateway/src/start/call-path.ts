/** Wires the way of a call: desk, group commit, recovery, and the worker's link. */
import {
  AskAgain,
  type BodySealer,
  CallDesk,
  type Calls,
  GroupCommit,
  isAboutHealth,
  type Journal,
  noteCall,
  Orphans,
  Recovery,
  type Refresher,
  recordHealth,
  requireScope,
  type Store,
  sealDigests,
  type Toolsets,
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
import type { ObservedHead, ResultHead } from '@sallyport/protocol/node'
import type { Metrics } from '../metrics.ts'
import type { Log } from '../worker/log.ts'

export interface CallPath {
  /** The door for transports. */
  readonly calls: Calls
  readonly desk: CallDesk
  readonly group: GroupCommit
  readonly recovery: Recovery
  readonly orphans: Orphans
  readonly events: WorkerEvents
  /** Ends what it listens to. */
  stop(): void
}

export interface CallPathDeps {
  readonly store: Store
  readonly journal: Journal
  readonly worker: WorkerPort
  readonly bodies: BodySealer
  readonly toolsets: Toolsets
  readonly refresher: Pick<Refresher, 'readiness' | 'rejected'>
  readonly ids: IdSource
  readonly instance: InstanceId
  readonly metrics: Metrics
  readonly log: Log
  readonly provedGone: (instance: string) => boolean
  /** A listing of the worker was accepted. */
  readonly observed: () => void
}

export function createCallPath(deps: CallPathDeps): CallPath {
  const { store, ids, metrics, log, instance: gateway } = deps
  const report = (error: unknown, where: string): void => {
    const { code, cause } = toSallyportError(error)
    log.error({ code, where, cause: String(cause) }, 'call path')
  }
  const { readiness } = deps.refresher
  const common = { ...deps, gateway, now: Date.now, report, readiness }
  const group = new GroupCommit({
    ...common,
    sealDigest: sealDigests(),
    suspect: (rows) => recovery.suspect(rows),
    measure: (size) => metrics.barrierGroup(size),
  })
  const desk = new CallDesk({
    ...common,
    group,
    ids,
    measure: ({ state, ms }) => metrics.callEnded(state, ms / 1000),
  })
  const recovery = new Recovery({ ...common, desk })
  const orphans = new Orphans({
    ...common,
    group,
    holds: desk.holds,
    passed: (row, waiter) => desk.passed(row, waiter),
  })
  const stop = store.listen((decided) => {
    orphans.heard(decided).catch((error) => report(error, 'decided calls'))
  })
  const rejected: Refresher['rejected'] = (id, since) => deps.refresher.rejected(id, since)
  return {
    calls: new AskAgain({ calls: desk, rejected, now: Date.now, report }),
    desk,
    group,
    recovery,
    orphans,
    stop,
    events: eventsOf(deps, { desk, recovery, report }),
  }
}

function eventsOf(
  deps: CallPathDeps,
  {
    desk,
    recovery,
    report,
  }: Pick<CallPath, 'desk' | 'recovery'> & {
    report: (error: unknown, where: string) => void
  },
): WorkerEvents {
  const { store, worker, metrics, observed } = deps
  const round = (): void => void recovery.round().catch((error) => report(error, 'recovery'))
  return {
    result: (head, raw) => {
      if (head.code === 'upstream_unauthorized' || head.code === 'upstream_http_401')
        renew(deps, desk, head.intent).catch((error) => report(error, 'refresh'))
      if (head.requiredScope !== undefined)
        keepRequired(deps, desk, head).catch((error) => report(error, 'required scope'))
      if (isAboutHealth(head))
        noteHealth(deps, desk, head).catch((error) => report(error, 'health'))
      if (desk.onResult(head, raw)) recovery.forget(head.intent as IntentId)
    },
    progress: (head) => desk.onProgress(head),
    late: (head) => desk.onLate(head),
    observed: (head) => {
      keepObserved(store, head).then(observed, (error) => report(error, 'observed'))
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
  }
}

/** What a call found out about its connection; called while the call is still known. */
async function noteHealth(
  { store }: CallPathDeps,
  desk: CallDesk,
  head: ResultHead,
): Promise<void> {
  const row = desk.waitingRows().find(({ intentId }) => intentId === head.intent)
  if (row?.connectionId) await noteCall(store, row.connectionId, head)
}

/** It was listed, so it was reached. */
async function keepObserved(store: Store, head: ObservedHead): Promise<void> {
  await store.transact((tx) =>
    tx.connections.observe({ ...head, connectionId: head.connectionId as ConnectionId }),
  )
  const { connectionId, connectionRevision: revision } = head
  await recordHealth(store, { id: connectionId as ConnectionId, revision, code: null })
}

/** The upstream wants more scopes than were granted: the connection says so until a person has granted them. */
async function keepRequired(
  { store }: CallPathDeps,
  desk: CallDesk,
  { intent, requiredScope = '' }: ResultHead,
): Promise<void> {
  const id = desk.waitingRows().find(({ intentId }) => intentId === intent)?.connectionId
  if (id) await store.transact((tx) => requireScope(tx, id, requiredScope))
}

/** The upstream did not take the token of this call: the next call has another one. */
async function renew(
  { store, refresher }: CallPathDeps,
  desk: CallDesk,
  intent: string,
): Promise<void> {
  const row = desk.waitingRows().find(({ intentId }) => intentId === intent)
  const connection = row?.connectionId ? await store.connections.get(row.connectionId) : undefined
  if (connection?.credentialId)
    await refresher.rejected(connection.credentialId, row?.arrivedAt ?? 0)
}
