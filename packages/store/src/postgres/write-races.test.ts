/** Locks of write keys, executions, approvals and deliveries across two connections, with real waits. */
import type { Execution, Store, Tx } from '@sallyport/core'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningPostgres, startPostgres } from '../../../../tests/postgres/start-postgres.ts'
import {
  exampleApproval,
  exampleBody,
  exampleDelivery,
  exampleExecution,
  exampleWaiting,
  exampleWebhook,
  newId,
  start,
} from '../contract/examples.ts'
import { openPostgresStore } from './open-postgres-store.ts'

let postgres: RunningPostgres
let watcher: pg.Client
let store: Store
let rival: Store

beforeAll(async () => {
  postgres = await startPostgres()
  watcher = new pg.Client({ connectionString: postgres.url })
  await watcher.connect()
  // Few rows are scanned, in one order whatever was asked for; many are looked up, in the order in which they are named.
  for (const way of ['seqscan', 'hashjoin', 'mergejoin'])
    await watcher.query(`ALTER DATABASE postgres SET enable_${way} = off`)
  const open = () => openPostgresStore({ url: postgres.url, schema: 'writes' })
  store = await open()
  rival = await open()
})
afterAll(async () => {
  await Promise.all([store.close(), rival.close()])
  await watcher.end()
  await postgres.stop()
})

/** True when so many wait for a lock, false when this one came to its end first. */
async function waits(act: Promise<unknown>, atOnce = 1): Promise<boolean> {
  let ended = false
  const end = () => {
    ended = true
  }
  act.then(end, end)
  const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
  for (const until = Date.now() + 20_000; Date.now() < until && !ended; ) {
    const { rows } = await watcher.query(waiting)
    if (rows[0].n >= atOnce) return true
  }
  return false
}

const tryKeys = (tx: Tx, ...keys: string[]) => tx.executions.holdWriteKeys(keys, 'try')

test('a write key that is held is left out, refused to an insertion, and waited for', async () => {
  const write = () => exampleExecution({ writeKey: 'a', access: 'write' })
  let waiting: Promise<unknown> | undefined
  let isHeld = true
  await store.transact(async (tx) => {
    await tx.executions.holdWriteKeys(['a', 'b'], 'wait')
    expect(await rival.transact((tx) => tryKeys(tx, 'a', 'c'))).toEqual(new Set(['c']))
    expect(await rival.transact((tx) => tx.executions.insert([write()]))).toEqual(['write'])
    waiting = rival.transact(async (tx) => {
      await tx.executions.holdWriteKeys(['c', 'a'], 'wait')
      expect(isHeld).toBe(false)
      return tx.executions.twins(['a'])
    })
    expect(await waits(waiting)).toBe(true)
    const row = write()
    expect(await tx.executions.insert([{ ...row, caller: 'attached' }])).toEqual(['inserted'])
    isHeld = false
  })
  expect(await waiting).toMatchObject([{ writeKey: 'a', caller: 'attached' }])
  expect(await rival.transact((tx) => tryKeys(tx, 'a', 'b', 'c'))).toHaveProperty('size', 3)
})

test('a try holds as well as a wait does, and ends with its transaction however that ends', async () => {
  const broken = store.transact(async (tx) => {
    expect(await tryKeys(tx, 'x')).toEqual(new Set(['x']))
    expect(await rival.transact((tx) => tryKeys(tx, 'x'))).toEqual(new Set())
    throw new Error('broken')
  })
  await expect(broken).rejects.toThrow('broken')
  expect(await rival.transact((tx) => tryKeys(tx, 'x'))).toEqual(new Set(['x']))
})

test('locked executions and approvals keep every change of them waiting', async () => {
  const row = exampleWaiting({ state: 'approved' })
  const approval = exampleApproval({ state: 'approved' })
  await store.transact(async (tx) => {
    await tx.executions.insert([row])
    await tx.approvals.insert([approval])
  })
  const by = newId('instance')
  const refusal = { from: ['approved'], state: 'refused', finishedAt: 1 } as const
  const changes: ((tx: Tx) => Promise<unknown>)[] = [
    (tx) => tx.executions.lock([row.id]),
    (tx) =>
      tx.executions.settle([
        { ...refusal, id: newId('execution') },
        { ...refusal, id: row.id },
      ]),
    (tx) => tx.executions.dispatch([row]),
    (tx) => tx.executions.moveCallers([{ id: row.id, from: ['attached'], to: 'detached', by }]),
    (tx) => tx.executions.note(row.id, { late: true }),
    (tx) => tx.approvals.lock([approval.id]),
    (tx) => tx.approvals.update([{ ...approval, state: 'cancelled' }]),
  ]
  for (const change of changes) {
    let waiting: Promise<unknown> | undefined
    await store.transact(async (tx) => {
      await tx.approvals.lock([approval.id])
      await tx.executions.lock([row.id])
      waiting = rival.transact(async (tx) => {
        await change(tx)
        throw new Error('it waited')
      })
      expect(await waits(waiting)).toBe(true)
    })
    await expect(waiting).rejects.toThrow('it waited')
  }
  const free = rival.transact((tx) => tx.executions.lock([row.id]))
  expect(await waits(free)).toBe(false)
})

test('a change that waited is judged by what the first one left', async () => {
  const row = exampleWaiting({ state: 'dispatching', caller: 'attached' })
  await store.transact((tx) => tx.executions.insert([row]))
  const by = newId('instance')
  const take = { id: row.id, from: ['attached'], to: 'detached', by } as const
  let waiting: Promise<boolean[]> | undefined
  await store.transact(async (tx) => {
    expect(await tx.executions.moveCallers([{ ...take, to: 'collected', at: start }])).toEqual([
      true,
    ])
    waiting = rival.transact((tx) => tx.executions.moveCallers([take]))
    expect(await waits(waiting)).toBe(true)
  })
  expect(await waiting).toEqual([false])
  expect(await store.executions.get(row.id)).toMatchObject({
    caller: 'collected',
    collectedAt: start,
  })
})

test('groups that move the same callers in opposite orders do not wait for each other in a ring', async () => {
  const rows = [1, 2, 3].map(() => exampleWaiting({ caller: 'attached' }))
  await store.transact((tx) => tx.executions.insert(rows))
  const by = newId('instance')
  const move = (given: readonly Execution[]) =>
    rival.transact((tx) =>
      tx.executions.moveCallers(
        given.map(({ id }) => ({ id, from: ['attached'], to: 'detached', by })),
      ),
    )
  let moved: Promise<boolean[][]> | undefined
  await store.transact(async (tx) => {
    await tx.executions.lock(rows.slice(1, 2).map(({ id }) => id))
    moved = Promise.all([move(rows), move(rows.toReversed())])
    expect(await waits(moved, 2)).toBe(true)
  })
  expect((await moved)?.flat().filter(Boolean)).toHaveLength(3)
})

test('nobody waits for deliveries that another gateway is taking, and nobody gets them too', async () => {
  const webhook = exampleWebhook()
  const deliveries = [1, 2, 3].map(() => exampleDelivery({ webhookId: webhook.id }))
  await store.transact(async (tx) => {
    await tx.webhooks.insert(webhook)
    await tx.webhooks.enqueue(deliveries)
  })
  const taken = await store.transact(async (tx) => {
    const mine = await tx.webhooks.take(start, start + 9, 2)
    return [...mine, ...(await rival.transact((tx) => tx.webhooks.take(start, start + 9, 9)))]
  })
  expect(taken.map(({ id }) => id)).toEqual(deliveries.map(({ id }) => id))
})

test('a webhook is removed with what is being enqueued for it, and never waits for a note', async () => {
  const webhook = exampleWebhook()
  await store.transact((tx) => tx.webhooks.insert(webhook))
  let removal: Promise<boolean> | undefined
  await store.transact(async (tx) => {
    await tx.webhooks.enqueue([exampleDelivery({ webhookId: webhook.id })])
    await rival.transact((tx) => tx.webhooks.noteDelivery({ ...webhook, lastDeliveredAt: start }))
    removal = rival.transact((tx) => tx.webhooks.remove(webhook.id))
    expect(await waits(removal)).toBe(true)
  })
  expect(await removal).toBe(true)
  const sql = 'SELECT count(*)::int AS n FROM writes.deliveries WHERE webhook_id = $1'
  expect((await watcher.query(sql, [webhook.id])).rows).toEqual([{ n: 0 }])
})

test('a body that cannot be read is no body that is not there', async () => {
  const body = exampleBody({ dueAt: start })
  await store.transact((tx) => tx.bodies.insert([body]))
  await watcher.query("UPDATE writes.bodies SET kind = 'other'")
  await expect(store.bodies.due(start, 9)).rejects.toMatchObject({ code: 'row_unreadable' })
  await watcher.query("UPDATE writes.bodies SET kind = 'arguments'")
  expect(await store.bodies.due(start, 9)).toEqual([body])
})
