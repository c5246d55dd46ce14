/** One gateway's call path over a real store, with a worker that the test plays and a clock that it steps. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type BoundTool,
  CallDesk,
  type CallOutcome,
  type CallRequest,
  type Execution,
  GroupCommit,
  Journal,
  type Order,
  Recovery,
  type Session,
  type Store,
  sealDigests,
  type WorkerPort,
} from '@sallyport/core'
import { type InstanceId, type IntentId, idSource, SallyportError } from '@sallyport/protocol'
import type { RecoveredHead, ResultHead } from '@sallyport/protocol/node'
import { openMemoryStore, openSqliteStore } from '@sallyport/store'
import {
  aBinding,
  aCatalog,
  aConnection,
  aCredential,
  aGrant,
  aProfile,
  aSession,
  aTool,
} from '../../packages/core/src/call/samples.ts'
import { sampleSigner } from '../../packages/protocol/src/journal/sample-journal.ts'

type Step = { kind: 'send' | 'commit' | 'abort'; ids: IntentId[] } | { kind: 'flushed' }

/** Does what the test says; keeps what it was told, in order. */
export class PlayedWorker implements WorkerPort {
  name: string | undefined = 'worker-1'
  readonly steps: Step[] = []
  readonly orders: Order[] = []
  readonly settledIds: IntentId[] = []
  readonly cancelled: IntentId[] = []
  /** Thrown by the next send. */
  failSend: SallyportError | undefined
  recoverWith: (id: IntentId) => Partial<RecoveredHead> & { raw?: string } = () => ({
    state: 'not_known',
  })
  readonly asked: IntentId[] = []
  #wake: (() => void)[] = []

  instance(): string | undefined {
    return this.name
  }

  send(orders: readonly Order[]) {
    if (this.failSend) {
      const error = this.failSend
      this.failSend = undefined
      throw error
    }
    const ids = orders.map(({ id }) => id)
    this.orders.push(...orders)
    this.steps.push({ kind: 'send', ids })
    return {
      commit: (admitted: readonly number[]) => {
        this.steps.push({ kind: 'commit', ids: admitted.map((at) => ids[at] as IntentId) })
        for (const wake of this.#wake.splice(0)) wake()
      },
      abort: () => {
        this.steps.push({ kind: 'abort', ids })
        for (const wake of this.#wake.splice(0)) wake()
      },
    }
  }

  settled(ids: readonly IntentId[]): void {
    this.settledIds.push(...ids)
  }

  cancel(id: IntentId): void {
    this.cancelled.push(id)
  }

  async recover(intents: readonly { id: IntentId; iat: number; aud: string }[]) {
    return intents.map(({ id }) => {
      this.asked.push(id)
      const { raw = '', ...head } = this.recoverWith(id)
      return {
        head: {
          intent: id,
          instance: this.name ?? '',
          state: 'not_known',
          ...head,
        } as RecoveredHead,
        raw: Buffer.from(raw),
      }
    })
  }

  /** The id of the n-th intent, once the batch it came in was committed or aborted. */
  async intent(n = 0): Promise<IntentId> {
    for (let turn = 0; turn < 5000; turn++) {
      const order = this.orders[n]
      const isDecided = this.steps.some(
        (step) =>
          step.kind !== 'send' && step.kind !== 'flushed' && order && step.ids.includes(order.id),
      )
      if (order && isDecided) return order.id
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve)
        setTimeout(resolve, 1)
      })
    }
    throw new Error('no order came')
  }
}

export interface World {
  readonly store: Store
  readonly worker: PlayedWorker
  readonly desk: CallDesk
  readonly recovery: Recovery
  readonly group: GroupCommit
  readonly session: Session
  readonly suspected: Execution[]
  readonly gone: Set<string>
  now(): number
  step(ms: number): void
  call(change?: Partial<CallRequest>): Promise<CallOutcome>
  answer(intent: IntentId, head?: Partial<ResultHead>, raw?: string): void
  rows(): Promise<Execution[]>
  row(): Promise<Execution>
  /** Another gateway on the same store. */
  another(): World
  /** A gateway on this store. */
  over(store: Store): World
  close(): Promise<void>
}

export type Engine = 'memory' | 'sqlite'

const readTool = aTool()
export const writeTool: BoundTool = aTool({
  tool: 'add',
  exposedName: 'add',
  mode: 'write_unattended',
  access: 'write',
})

export async function openWorld(engine: Engine): Promise<World> {
  let time = 10_000
  const now = () => time
  const folder = engine === 'sqlite' ? mkdtempSync(join(tmpdir(), 'sallyport-call-')) : undefined
  const store = folder
    ? await openSqliteStore({
        file: join(folder, 'test.db'),
        now,
        onFatal: (error) => {
          throw error
        },
      })
    : openMemoryStore({ now })
  await fill(store)
  const close = async () => {
    await store.close()
    if (folder) rmSync(folder, { recursive: true, force: true })
  }
  return gatewayOn(
    store,
    now,
    (ms) => {
      time += ms
    },
    close,
  )
}

async function fill(store: Store): Promise<void> {
  const { connectionId, credentialId, catalogId } = aBinding()
  await store.transact(async (tx) => {
    await tx.users.insert({
      id: aSession().ownerId,
      name: 'ada',
      role: 'admin',
      createdAt: 0,
      disabledAt: null,
    })
    await tx.connections.insert(
      aConnection({ id: connectionId, credentialId, publishedId: catalogId }),
      25,
    )
    await tx.credentials.insert(aCredential())
    await tx.catalogs.insert(aCatalog(), [])
    await tx.profiles.insert(aProfile())
    await tx.grants.insert(aGrant())
    await tx.sessions.insert(aSession())
  })
}

let serial = 0

function gatewayOn(
  store: Store,
  now: () => number,
  step: (ms: number) => void,
  close: () => Promise<void>,
): World {
  const ids = idSource(now, (size) => new Uint8Array(size).fill(++serial & 255))
  const worker = new PlayedWorker()
  const gateway = ids('instance') as InstanceId
  const suspected: Execution[] = []
  const gone = new Set<string>()
  const report = () => {}
  const signer = sampleSigner()
  const journal = new Journal({ store, ids, now, instance: gateway, signer })
  const group: GroupCommit = new GroupCommit({
    journal,
    worker,
    ids,
    now,
    gateway,
    sealDigest: sealDigests(),
    suspect: (rows) => {
      suspected.push(...rows)
      recovery.suspect(rows)
    },
    report,
  })
  const desk = new CallDesk({ group, reads: store, worker, ids, now, gateway, report })
  const recovery = new Recovery({
    store,
    journal,
    worker,
    desk,
    gateway,
    now,
    provedGone: (name) => gone.has(name),
    report,
  })
  let calls = 0
  const session = aSession()
  return {
    store,
    worker,
    desk,
    recovery,
    group,
    session,
    suspected,
    gone,
    now,
    step,
    call: (change = {}) =>
      desk.call({
        session,
        tool: readTool,
        argumentsText: '{}',
        callId: `call-${++calls}`,
        ...change,
      }),
    answer: (intent, head = {}, raw = '{"content":[]}') =>
      desk.onResult(
        { intent, verdict: 'result', digest: digestOf(raw), bytes: raw.length, ...head },
        Buffer.from(raw),
      ),
    rows: async () => {
      await group.drained()
      return await store.executions.list({ limit: 100 })
    },
    async row() {
      const [row, ...more] = await this.rows()
      if (!row || more.length > 0) throw new Error(`${more.length + (row ? 1 : 0)} rows`)
      return row
    },
    another: () => gatewayOn(store, now, step, close),
    over: (other) => gatewayOn(other, now, step, close),
    close,
  }
}

function digestOf(_raw: string): NonNullable<ResultHead['digest']> {
  return `sha256:${'9'.repeat(64)}` as NonNullable<ResultHead['digest']>
}

export const workerDown = (): SallyportError => new SallyportError('worker_down')
