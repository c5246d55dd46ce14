/**
 * What the barrier's transaction costs in the embedded store: `npx node scripts/measure-store.ts`. Prints microseconds for
 * each call, alone and in groups, with and without waiting for the flush, and what the journal adds to it. A write keeps its
 * arguments and its result besides, and moves its caller. Absolute times: compare runs of one machine.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AuthorityRefs,
  type Execution,
  Journal,
  type PageDraft,
  type Settlement,
  type Tx,
} from '@sallyport/core'
import { idSource } from '@sallyport/protocol'
import { batchOf } from '@sallyport/protocol/node'
import { openSqliteStore } from '@sallyport/store'
import { recordedEvent, settledEvent } from '../packages/core/src/journal/events.ts'
import { sampleSigner } from '../packages/protocol/src/journal/sample-journal.ts'
import {
  exampleCatalog,
  exampleConnection,
  exampleCredential,
  exampleExecution,
  exampleGrant,
  exampleProfile,
  exampleSession,
} from '../packages/store/src/contract/examples.ts'

const ids = idSource(Date.now, (size) => randomBytes(size))
const folder = mkdtempSync(join(tmpdir(), 'sallyport-measure-'))
const onFatal = (error: unknown) => {
  throw error
}
const store = await openSqliteStore({ file: join(folder, 'data.db'), now: Date.now, onFatal })
const signer = sampleSigner()
const journal = new Journal({ store, ids, now: Date.now, instance: ids('instance'), signer })
const session = exampleSession()
const refs = await authority()

async function authority(): Promise<AuthorityRefs> {
  const [connection, credential, catalog] = [
    exampleConnection(),
    exampleCredential(),
    exampleCatalog(),
  ]
  const [profile, grant] = [exampleProfile(), exampleGrant()]
  await store.transact(async (tx) => {
    await tx.connections.insert(connection, 25)
    await tx.credentials.insert(credential)
    await tx.catalogs.insert(catalog, [])
    await tx.profiles.insert(profile)
    await tx.grants.insert(grant)
    await tx.sessions.insert(session)
  })
  return {
    connections: [connection.id],
    credentials: [credential.id],
    catalogs: [catalog.id],
    profiles: [profile.id],
    grants: [grant.id],
    sessions: [session.id],
  }
}

function newCall(callId: string, kind: Run['kind']): Execution {
  const { id: sessionId, ownerId } = session
  const row = exampleExecution({ id: ids('execution'), sessionId, ownerId, callId })
  if (kind === 'read') return row
  const writeKey = `sha256:${randomBytes(32).toString('hex')}`
  const { gatewayInstance: callerInstance } = row
  return { ...row, access: 'write', writeKey, caller: 'attached', callerInstance }
}

const sealed = randomBytes(700)

/** What a write adds: the caller has its answer, the result is kept, and so are the arguments of the next one. */
async function keep(tx: Tx, before: readonly Execution[], calls: readonly Execution[]) {
  const dueAt = Date.now() + 86_400_000
  await tx.executions.moveCallers(
    before.map(({ id, gatewayInstance: by }) => ({
      id,
      from: ['attached'],
      of: by,
      to: 'collected',
      by,
      at: dueAt,
    })),
  )
  await tx.bodies.insert([
    ...before.map(({ id }) => ({ executionId: id, kind: 'result' as const, sealed, dueAt })),
    ...calls.map(({ id }) => ({ executionId: id, kind: 'arguments' as const, sealed, dueAt })),
  ])
}

const outcome = ({ id }: Execution): Settlement => ({
  id,
  from: ['dispatching'],
  state: 'succeeded',
  finishedAt: Date.now(),
  resultDigest: `sha256:${'c'.repeat(64)}`,
  resultBytes: 200,
  tookMs: 1.5,
})

interface Run {
  readonly kind: 'read' | 'write'
  readonly group: number
  readonly flush: 'wait' | 'later'
  /** Ids of calls that sort by time stay on few pages of the index. */
  readonly callIds: 'by time' | 'random'
}

interface Cost {
  readonly wall: number
  readonly cpu: number
}

function note(page: PageDraft, before: readonly Execution[], calls: readonly Execution[]): void {
  for (const row of before) page.note(settledEvent(outcome(row), 2))
  for (const row of calls) page.note(recordedEvent(row))
  page.batch = batchOf(calls.map(({ intentDigest }) => String(intentDigest)))
}

/**
 * Each transaction settles the calls of the one before it and lets the next group through, as the gateway does; every
 * second one is told to the journal, so that both see the same machine.
 */
async function measure({ kind, group, flush, callIds }: Run): Promise<void> {
  const callId = () => (callIds === 'random' ? randomBytes(16).toString('hex') : ids('intent'))
  const costs: Record<'rows' | 'journal', Cost[]> = { rows: [], journal: [] }
  let before: Execution[] = []
  for (let i = 0; i < Math.max(400, 8000 / group); i++) {
    const calls = Array.from({ length: group }, () => newCall(callId(), kind))
    const isTold = i % 2 === 1
    const [begun, used] = [performance.now(), process.cpuUsage()]
    await journal.transact(
      async (tx, page) => {
        await tx.executions.settle(before.map(outcome))
        await tx.lockAuthority(refs)
        await tx.executions.insert(calls)
        if (kind === 'write') await keep(tx, before, calls)
        if (isTold) note(page, before, calls)
      },
      { flush },
    )
    await new Promise((resolve) => setImmediate(resolve))
    const { user, system } = process.cpuUsage(used)
    const wall = ((performance.now() - begun) * 1000) / group
    costs[isTold ? 'journal' : 'rows'].push({ wall, cpu: (user + system) / group })
    before = calls
  }
  const name = `${group} ${kind}s, ${flush}, ids ${callIds}`
  const [rows, told] = [medians(costs.rows), medians(costs.journal)]
  const added = `journal +${(told.wall - rows.wall).toFixed(1)} (CPU +${(told.cpu - rows.cpu).toFixed(1)})`
  console.log(
    `${name.padEnd(32)} p50 ${told.wall.toFixed(1)} (CPU ${told.cpu.toFixed(1)})  ${added}  µs a call`,
  )
}

function medians(costs: readonly Cost[]): Cost {
  const middle = (of: (cost: Cost) => number): number =>
    costs.map(of).sort((a, b) => a - b)[Math.floor(costs.length / 2)] ?? 0
  return { wall: middle(({ wall }) => wall), cpu: middle(({ cpu }) => cpu) }
}

for (const callIds of ['by time', 'random'] as const) {
  for (const kind of ['read', 'write'] as const) {
    for (const group of [1, 16, 64]) {
      await measure({ kind, group, flush: 'later', callIds })
      await measure({ kind, group, flush: 'wait', callIds })
    }
  }
}
await store.close()
rmSync(folder, { recursive: true })
