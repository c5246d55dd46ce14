/** One gateway's call path over a real store, with a worker that the test plays and a clock that it steps. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Actor,
  type BodySealer,
  type BoundTool,
  CallDesk,
  type CallOutcome,
  type CallRequest,
  type Execution,
  GroupCommit,
  Journal,
  type Order,
  Orphans,
  Recovery,
  type Session,
  type Store,
  sealDigests,
  type Toolsets,
  type WorkerPort,
} from '@sallyport/core'
import {
  type BindingId,
  type IdSource,
  type InstanceId,
  type IntentId,
  idSource,
  type ProfileSettings,
  profileSettings,
  SallyportError,
} from '@sallyport/protocol'
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

/** A bound for a machine that does much else; what is to come comes in milliseconds. */
const orderWithinMs = 20_000

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
    const until = performance.now() + orderWithinMs
    while (performance.now() < until) {
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
  readonly orphans: Orphans
  readonly journal: Journal
  readonly gateway: InstanceId
  readonly ids: IdSource
  readonly session: Session
  /** Of the session. */
  readonly owner: Actor
  readonly suspected: Execution[]
  /** What went wrong inside, in order. */
  readonly reported: unknown[]
  readonly gone: Set<string>
  /** What sessions are bound to, for whoever makes a call again from its row. */
  readonly tools: BoundTool[]
  now(): number
  step(ms: number): void
  /** Its answer is taken at once. */
  call(change?: Partial<CallRequest>): Promise<CallOutcome>
  /** What becomes of its answer is the test's to say. */
  ask(change?: Partial<CallRequest>): Promise<CallOutcome>
  answer(intent: IntentId, head?: Partial<ResultHead>, raw?: string): void
  rows(): Promise<Execution[]>
  row(): Promise<Execution>
  /** Another gateway on the same store, whose clock is ahead by so much. */
  another(aheadMs?: number): World
  /** A gateway on this store. */
  over(store: Store): World
  /** Its process is killed: from now on it hears nothing, and nothing that it does arrives. */
  die(): void
  close(): Promise<void>
}

export type Engine = 'memory' | 'sqlite'

export const readTool: BoundTool = aTool()
export const writeTool: BoundTool = aTool({
  tool: 'add',
  exposedName: 'add',
  id: 'bnd_00000000000000000000000003' as BindingId,
  mode: 'write_unattended',
  access: 'write',
})

/** Needs a person. */
export const askTool: BoundTool = aTool({
  id: 'bnd_00000000000000000000000002' as BindingId,
  tool: 'add',
  exposedName: 'add',
  mode: 'write_with_approval',
  access: 'write',
})

/** As long as what is sealed is opened in its place, these tests ask no more of it. */
export const bodies: BodySealer = {
  seal: (id, kind, plain) => Buffer.from(`${id} ${kind} ${Buffer.from(plain).toString('base64')}`),
  open: (id, kind, sealed) => {
    const [of, what, text] = Buffer.from(sealed).toString('latin1').split(' ')
    if (of !== id || what !== kind) throw new SallyportError('row_unreadable')
    return Buffer.from(text ?? '', 'base64')
  },
}

/** What a test of held calls wants otherwise. */
export interface Wanted {
  readonly settings?: Partial<ProfileSettings>
}

export async function openWorld(engine: Engine, wanted: Wanted = {}): Promise<World> {
  const clock = new Clock()
  const { now } = clock
  if (engine === 'memory') return worldOn(openMemoryStore({ now }), clock, wanted)
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-call-'))
  const onFatal = (error: unknown): never => {
    throw error
  }
  const store = await openSqliteStore({ file: join(folder, 'test.db'), now, onFatal })
  return worldOn(store, clock, wanted, async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** Stands still until it is stepped. */
export class Clock {
  #time = 10_000
  readonly now = (): number => this.#time
  readonly step = (ms: number): void => {
    this.#time += ms
  }
}

/** On an empty store. */
export async function worldOn(
  store: Store,
  clock: Clock,
  { settings }: Wanted = {},
  close = () => store.close(),
): Promise<World> {
  await fill(store, settings)
  return gatewayOn(store, { ...clock, close, tools: [readTool, writeTool, askTool] })
}

async function fill(store: Store, settings: Partial<ProfileSettings> = {}): Promise<void> {
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
    await tx.profiles.insert(aProfile({ settings: profileSettings.parse(settings) }))
    await tx.grants.insert(aGrant())
    await tx.sessions.insert(aSession())
  })
}

let serial = 0

function reachedUntil(store: Store, isOver: () => boolean): Store {
  return new Proxy(store, {
    get: (target, name, receiver) =>
      name === 'transact' && isOver()
        ? () => Promise.reject(new SallyportError('store_unavailable'))
        : Reflect.get(target, name, receiver),
  })
}

/** What the gateways of one world share. */
type Shared = Pick<World, 'now' | 'step' | 'close' | 'tools'>

function gatewayOn(database: Store, shared: Shared): World {
  let isDead = false
  const store = reachedUntil(database, () => isDead)
  const { now, tools } = shared
  const toolsets: Toolsets = {
    of: async () => ({ tools, find: () => undefined }),
    callable: async () => tools,
  }
  const ids = idSource(now, (size) => new Uint8Array(size).fill(++serial & 255))
  const worker = new PlayedWorker()
  const gateway = ids('instance') as InstanceId
  const suspected: Execution[] = []
  const gone = new Set<string>()
  const reported: unknown[] = []
  const report = (error: unknown) => void reported.push(error)
  const signer = sampleSigner()
  const journal = new Journal({ store, ids, now, instance: gateway, signer })
  const group: GroupCommit = new GroupCommit({
    journal,
    worker,
    bodies,
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
  const desk = new CallDesk({
    group,
    store,
    bodies,
    toolsets,
    worker,
    ids,
    now,
    gateway,
    report,
  })
  const orphans = new Orphans({
    group,
    store,
    bodies,
    toolsets,
    holds: desk.holds,
    gateway,
    report,
    passed: (row, waiter) => desk.passed(row, waiter),
  })
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
  const deaf = store.listen((decided) => void orphans.heard(decided).catch(report))
  let calls = 0
  const session = aSession()
  const ask = (change: Partial<CallRequest> = {}): Promise<CallOutcome> =>
    desk.call({
      session,
      tool: readTool,
      argumentsText: '{}',
      era: 'legacy',
      callId: `${gateway} ${++calls}`,
      ...change,
    })
  return {
    store,
    worker,
    desk,
    recovery,
    group,
    orphans,
    journal,
    gateway,
    ids,
    session,
    owner: { userId: session.ownerId, role: 'admin' },
    suspected,
    reported,
    gone,
    ...shared,
    ask,
    call: async (change = {}) => {
      const outcome = await ask(change)
      if (outcome.kind !== 'waiting') outcome.delivery?.collected()
      return outcome
    },
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
    another: (aheadMs = 0) => gatewayOn(database, { ...shared, now: () => now() + aheadMs }),
    over: (other) => gatewayOn(other, shared),
    die: () => {
      isDead = true
      deaf()
    },
  }
}

function digestOf(_raw: string): NonNullable<ResultHead['digest']> {
  return `sha256:${'9'.repeat(64)}` as NonNullable<ResultHead['digest']>
}

export const workerDown = (): SallyportError => new SallyportError('worker_down')
