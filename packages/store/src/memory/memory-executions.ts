import type {
  CallerChange,
  Execution,
  ExecutionFilter,
  ExecutionState,
  ExecutionWrites,
  Instance,
  Settlement,
} from '@sallyport/core'
import type {
  ConnectionId,
  ExecutionId,
  GrantId,
  InstanceId,
  SessionId,
  UserId,
} from '@sallyport/protocol'
import { callerMoved } from '../rows/caller.ts'
import { dispatchEach } from '../rows/dispatch.ts'
import { blocksWrites, mustBeMoves, settled, unfinishedStates } from '../rows/outcome.ts'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { newestFirst, sorted } from './sort.ts'

const unfinished: ReadonlySet<ExecutionState> = new Set(unfinishedStates)

export class MemoryExecutions implements ExecutionWrites {
  readonly #executions: MemoryRows<Execution>
  readonly #instances: MemoryRows<Instance>

  constructor(rows: { executions: MemoryRows<Execution>; instances: MemoryRows<Instance> }) {
    this.#executions = rows.executions
    this.#instances = rows.instances
  }

  async get(id: ExecutionId): Promise<Execution | undefined> {
    return this.#executions.get(id)
  }

  async getMany(ids: readonly ExecutionId[]): Promise<Execution[]> {
    const found = this.#executions.all().filter(({ id }) => ids.includes(id))
    return sorted(found, ({ id }) => id)
  }

  async byCall(sessionId: SessionId, callId: string): Promise<Execution | undefined> {
    return this.#executions
      .all()
      .find((row) => row.sessionId === sessionId && row.callId === callId)
  }

  async list({ ownerId, sessionId, state, limit }: ExecutionFilter): Promise<Execution[]> {
    const wanted = this.#executions
      .all()
      .filter((row) => ownerId === undefined || row.ownerId === ownerId)
      .filter((row) => sessionId === undefined || row.sessionId === sessionId)
      .filter((row) => state === undefined || row.state === state)
    return newestFirst(wanted).slice(0, limit)
  }

  async count(state: ExecutionState): Promise<number> {
    return this.#executions.all().filter((row) => row.state === state).length
  }

  async abandoned(now: number, owner?: InstanceId): Promise<Execution[]> {
    return this.#dispatching(({ gatewayInstance }) => {
      const lease = this.#instances.get(gatewayInstance)
      return gatewayInstance === owner || !lease || lease.leaseUntil <= now
    })
  }

  async dispatchingOf(instance: InstanceId): Promise<Execution[]> {
    return this.#dispatching(({ gatewayInstance }) => gatewayInstance === instance)
  }

  async unfinishedOf(sessionId: SessionId): Promise<Execution[]> {
    const open = this.#executions
      .all()
      .filter((row) => row.sessionId === sessionId && unfinished.has(row.state))
    return sorted(open, ({ id }) => id)
  }

  async waiting(limit: number): Promise<Execution[]> {
    const open = this.#executions
      .all()
      .filter(({ state }) => state === 'awaiting_approval' || state === 'approved')
    return sorted(open, ({ id }) => id).slice(0, limit)
  }

  async twins(writeKeys: readonly string[]): Promise<Execution[]> {
    const twins = this.#executions
      .all()
      .filter(({ writeKey }) => writeKey !== null && writeKeys.includes(writeKey))
      .filter(({ caller }) => caller !== null && caller !== 'collected')
    return sorted(twins, ({ id }) => id)
  }

  async identical(writeKey: string, since: number, limit: number): Promise<Execution[]> {
    const identical = this.#executions
      .all()
      .filter((row) => row.writeKey === writeKey && row.arrivedAt > since)
    return newestFirst(identical).slice(0, limit)
  }

  async unknownOf(
    { ownerId, connectionId, tool }: { ownerId: UserId; connectionId: ConnectionId; tool: string },
    limit: number,
  ): Promise<Execution[]> {
    const unknown = this.#executions
      .all()
      .filter((row) => row.state === 'unknown' && row.ownerId === ownerId)
      .filter((row) => row.connectionId === connectionId && row.tool === tool)
    return newestFirst(unknown).slice(0, limit)
  }

  async insert(rows: readonly Execution[]): Promise<('inserted' | 'call' | 'write')[]> {
    const results: ('inserted' | 'call' | 'write')[] = []
    for (const row of rows) results.push(await this.#insertOne(row))
    return results
  }

  async #insertOne(row: Execution): Promise<'inserted' | 'call' | 'write'> {
    if (await this.byCall(row.sessionId, row.callId)) return 'call'
    const blocked = this.#executions
      .all()
      .some((other) => blocksWrites(other) && other.writeKey === row.writeKey)
    if (blocked && blocksWrites(row)) return 'write'
    putNew(this.#executions, row.id, row)
    return 'inserted'
  }

  async settle(settlements: readonly Settlement[]): Promise<(number | undefined)[]> {
    mustBeMoves(settlements)
    return settlements.map((settlement) => {
      const row = this.#executions.get(settlement.id)
      const after = row && settled(row, settlement)
      if (after) this.#executions.put(after)
      return after?.sequence
    })
  }

  async claim(id: ExecutionId, from: InstanceId, to: InstanceId): Promise<number | undefined> {
    const row = this.#executions.get(id)
    if (row?.state !== 'dispatching' || row.gatewayInstance !== from) return undefined
    const sequence = row.sequence + 1
    this.#executions.put({ ...row, gatewayInstance: to, sequence })
    return sequence
  }

  async lock(ids: readonly ExecutionId[]): Promise<ReadonlyMap<ExecutionId, Execution>> {
    return new Map((await this.getMany(ids)).map((row) => [row.id, row]))
  }

  async holdWriteKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(keys)
  }

  async dispatch(rows: readonly Execution[]): Promise<(number | undefined)[]> {
    const stored = new Map<string, Execution>(this.#executions.all().map((row) => [row.id, row]))
    const blocked = [...stored.values()].filter(blocksWrites).map((row) => row.writeKey as string)
    return dispatchEach(rows, stored, new Set(blocked)).map((after) => {
      if (after) this.#executions.put(after)
      return after?.sequence
    })
  }

  async moveCallers(changes: readonly CallerChange[]): Promise<boolean[]> {
    return changes.map((change) => {
      const row = this.#executions.get(change.id)
      const after = row && callerMoved(row, change)
      if (after) this.#executions.put(after)
      return after !== undefined
    })
  }

  async note(id: ExecutionId, notes: Readonly<Record<string, unknown>>): Promise<void> {
    const row = this.#executions.get(id)
    if (row) this.#executions.put({ ...row, notes: { ...row.notes, ...notes } })
  }

  async countPassed(sessionId: SessionId, grantId: GrantId, since: number): Promise<number> {
    return this.#executions
      .all()
      .filter((row) => row.sessionId === sessionId && row.grantId === grantId)
      .filter(({ barrierAt }) => barrierAt !== null && barrierAt > since).length
  }

  #dispatching(wanted: (row: Execution) => boolean): Execution[] {
    const rows = this.#executions.all().filter((row) => row.state === 'dispatching' && wanted(row))
    return sorted(rows, ({ id }) => id)
  }
}
