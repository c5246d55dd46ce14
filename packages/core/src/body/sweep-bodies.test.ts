import type { ExecutionId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { anyConnection, askWrite } from '../../../../tests/authority/asked-writes.ts'
import { code, newWorld, type World } from '../../../../tests/authority/world.ts'
import type { Execution } from '../execution/execution.ts'
import { type BodyKind, bodyKinds } from './body.ts'
import { sweepBodies } from './sweep-bodies.ts'

const day = 86_400_000

async function keep(w: World, execution: Partial<Execution>, dueAt = Date.now() - 1) {
  const connection = await anyConnection(w, w.admin)
  const { id } = (await askWrite(w, w.alice, connection, { execution })).execution
  await keepOf(w, id, dueAt)
  return id
}

function keepOf({ store }: World, executionId: ExecutionId, dueAt: number): Promise<void> {
  const sealed = Buffer.from('sealed')
  return store.transact((tx) =>
    tx.bodies.insert(bodyKinds.map((kind) => ({ executionId, kind, sealed, dueAt }))),
  )
}

const dueAt = async ({ store }: World, id: ExecutionId, kind: BodyKind = 'result') =>
  (await store.bodies.get(id, kind))?.dueAt

test('deletes what is due of executions that are final, and nothing else', async () => {
  const w = await newWorld()
  const ended = Date.now() - 1
  const states = ['refused', 'succeeded', 'tool_error', 'not_sent', 'lost', 'resolved'] as const
  const over = []
  for (const state of states) over.push(await keep(w, { state, finishedAt: ended }))
  const later = await keep(w, { state: 'succeeded', finishedAt: ended }, Date.now() + day)
  expect(await sweepBodies(w.store)).toBe(2 * states.length)
  for (const id of over)
    expect([await dueAt(w, id), await dueAt(w, id, 'arguments')]).toEqual([undefined, undefined])
  expect(await dueAt(w, later)).toBeGreaterThan(Date.now())
  expect(await w.store.executions.get(over[0] as ExecutionId)).toMatchObject({ state: 'refused' })
})

test.each(['awaiting_approval', 'approved', 'dispatching', 'unknown'] as const)(
  'of an execution that is %s it keeps them, and looks again in a day',
  async (state) => {
    const w = await newWorld()
    const id = await keep(w, { state })
    const before = Date.now()
    expect(await sweepBodies(w.store)).toBe(0)
    for (const kind of bodyKinds)
      expect(await dueAt(w, id, kind)).toBeGreaterThanOrEqual(before + day)
  },
)

test('the time to keep counts from the end of the call', async () => {
  const w = await newWorld()
  const finishedAt = Date.now() - 1000
  const id = await keep(w, { state: 'succeeded', finishedAt, retainMs: 5000 })
  const old = await keep(w, { state: 'succeeded', finishedAt, retainMs: 500 })
  expect(await sweepBodies(w.store)).toBe(2)
  expect([await dueAt(w, id), await dueAt(w, old)]).toEqual([finishedAt + 5000, undefined])
})

test('a body whose execution is gone stops it, and nothing is deleted', async () => {
  const w = await newWorld()
  const over = { state: 'succeeded', finishedAt: 1 } as const
  const id = await keep(w, over, 2)
  await keepOf(w, w.deps.ids('execution'), 1)
  await expect(sweepBodies(w.store)).rejects.toMatchObject(code('row_unreadable'))
  expect(await dueAt(w, id)).toBe(2)
})

test('goes on until nothing is due', async () => {
  const w = await newWorld()
  for (let n = 0; n < 205; n++) await keep(w, { state: 'succeeded', finishedAt: 1 })
  expect(await sweepBodies(w.store)).toBe(410)
})
