/** What a barrier sees of the database, read once for a whole group under its locks, and what the group adds to it. */
import type {
  ApprovalId,
  ErrorCode,
  ExecutionId,
  GrantId,
  IdSource,
  InstanceId,
  SessionId,
} from '@sallyport/protocol'
import type { Approval } from '../approval/approval.ts'
import type { BodySealer } from '../body/body.ts'
import type { Execution } from '../execution/execution.ts'
import type { Authority, Tx } from '../store.ts'
import type { sealDigests } from './compose-intent.ts'
import { authorityRefs } from './judge.ts'
import type { CallRequest } from './ports.ts'
import type { Readiness } from './readiness.ts'
import { type Moment, olderThan } from './twins.ts'

/** A call whose arguments are checked. `row` is what its journal row will be, state and intent aside. */
export interface Arrival {
  readonly kind: 'arrival'
  readonly request: CallRequest
  readonly row: Execution
  readonly argumentsText: string
}

/** An execution that waits before the barrier, and whoever speaks for it here. */
export interface Continuation {
  readonly kind: 'continuation'
  readonly request: CallRequest
  /** As it was seen last. */
  readonly row: Execution
  readonly argumentsText: string
  /** Asked at the last moment. `left`: so has its caller, perhaps not on record; `nobody`: it is not held here. */
  readonly holds: () => 'caller' | 'left' | 'cancelled' | 'nobody'
}

export type Entry = Arrival | Continuation

export interface BarrierDeps {
  readonly ids: IdSource
  readonly now: () => number
  readonly gateway: InstanceId
  readonly sealDigest: ReturnType<typeof sealDigests>
  readonly bodies: BodySealer
  /** The worker that would be addressed, or undefined when none is there. */
  readonly worker: () => string | undefined
  readonly readiness?: Readiness
}

export class Scene implements Moment {
  readonly authority: Authority
  readonly deps: BarrierDeps
  readonly approvals: ReadonlyMap<ApprovalId, Approval>
  /** Of continuations, as they are now: two of one group may be about the same. */
  readonly rows: Map<ExecutionId, Execution>
  readonly #twins: Map<string, Execution[]>
  readonly #instances: ReadonlyMap<InstanceId, number>
  readonly #pending: Map<SessionId, number>
  readonly #passed = new Map<string, number>()
  readonly #unknown = new Map<string, Promise<Execution | undefined>>()
  readonly #tx: Tx

  private constructor(parts: {
    tx: Tx
    deps: BarrierDeps
    authority: Authority
    approvals: ReadonlyMap<ApprovalId, Approval>
    rows: Map<ExecutionId, Execution>
    twins: Map<string, Execution[]>
    instances: ReadonlyMap<InstanceId, number>
    pending: Map<SessionId, number>
  }) {
    this.authority = parts.authority
    this.deps = parts.deps
    this.approvals = parts.approvals
    this.rows = parts.rows
    this.#twins = parts.twins
    this.#instances = parts.instances
    this.#pending = parts.pending
    this.#tx = parts.tx
  }

  /** Takes the locks, in their order; the write keys of the entries are held already. */
  static async look(tx: Tx, entries: readonly Entry[], deps: BarrierDeps): Promise<Scene> {
    const authority = await tx.lockAuthority(
      authorityRefs(
        entries.map(({ request }) => ({ binding: request.tool.binding, session: request.session })),
      ),
    )
    const waiting = entries.flatMap((entry) => (entry.kind === 'continuation' ? [entry.row] : []))
    const approvalIds = waiting.flatMap(({ approvalId }) => approvalId ?? [])
    const approvals = approvalIds.length > 0 ? await tx.approvals.lock(approvalIds) : new Map()
    const rows =
      waiting.length > 0 ? await tx.executions.lock(waiting.map(({ id }) => id)) : new Map()
    const keys = [...new Set(entries.flatMap(({ row }) => row.writeKey ?? []))]
    const twins = keys.length > 0 ? await tx.executions.twins(keys) : []
    const instances = twins.length + waiting.length > 0 ? await tx.instances.list() : []
    const asking = entries.flatMap(({ kind, request }) =>
      kind === 'arrival' && request.tool.binding.mode === 'write_with_approval'
        ? [request.session.id]
        : [],
    )
    const pending = asking.length > 0 ? await tx.approvals.countPending(asking) : []
    return new Scene({
      tx,
      deps,
      authority,
      approvals,
      rows: new Map(rows),
      twins: Map.groupBy(twins, ({ writeKey }) => writeKey ?? ''),
      instances: new Map(instances.map(({ id, leaseUntil }) => [id, leaseUntil])),
      pending: new Map(pending),
    })
  }

  get now(): number {
    return this.authority.now
  }

  readonly isLive = (instance: InstanceId): boolean =>
    instance === this.deps.gateway || (this.#instances.get(instance) ?? 0) > this.now

  twinsOf({ writeKey }: Execution): readonly Execution[] {
    return writeKey === null ? [] : (this.#twins.get(writeKey) ?? [])
  }

  /** Those that a row came after, whatever has become of them. */
  async older(row: Execution): Promise<readonly Execution[]> {
    const ids = olderThan(row)
    return ids.length === 0 ? [] : this.#tx.executions.getMany(ids)
  }

  /** A row of this group is there from now on, or is something else: its neighbours have to reckon with it. */
  note(row: Execution): void {
    this.rows.set(row.id, row)
    if (row.writeKey === null) return
    const others = this.twinsOf(row).filter(({ id }) => id !== row.id)
    const twins = row.caller === null && row.state !== 'unknown' ? others : [...others, row]
    this.#twins.set(
      row.writeKey,
      twins.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    )
  }

  /** Counts one more approval that the session waits for; false when it has as many as it may. */
  takePending(session: SessionId, atMost: number): boolean {
    const count = this.#pending.get(session) ?? 0
    if (count >= atMost) return false
    this.#pending.set(session, count + 1)
    return true
  }

  /** Counts what passed in the window of a grant's rate, this group's own calls included. */
  async takeRate(
    session: SessionId,
    grant: GrantId,
    rate: { count: number; seconds: number } | undefined,
  ): Promise<ErrorCode | undefined> {
    if (!rate) return undefined
    const key = `${session} ${grant}`
    const since = this.now - rate.seconds * 1000
    const used =
      this.#passed.get(key) ?? (await this.#tx.executions.countPassed(session, grant, since))
    this.#passed.set(key, used < rate.count ? used + 1 : used)
    return used < rate.count ? undefined : 'rate_limited'
  }

  /** A call of this owner and tool of which nobody knows what became. */
  unknownOf({ ownerId, connectionId, tool }: Execution): Promise<Execution | undefined> {
    if (connectionId === null) return Promise.resolve(undefined)
    const key = `${ownerId} ${connectionId} ${tool}`
    const asked =
      this.#unknown.get(key) ??
      this.#tx.executions.unknownOf({ ownerId, connectionId, tool }, 1).then(([first]) => first)
    this.#unknown.set(key, asked)
    return asked
  }
}
