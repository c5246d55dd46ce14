import { expect, test } from 'vitest'
import {
  announcedBy,
  anyConnection,
  askWrite,
  eventsOf,
} from '../../../../tests/authority/asked-writes.ts'
import { code, newWorld, type World } from '../../../../tests/authority/world.ts'
import type { Actor } from '../user/user.ts'
import type { Execution } from './execution.ts'
import { resolveExecution } from './resolve-execution.ts'

const finishedAt = 1_800_000_000_000
const unknownRow = { state: 'unknown', code: 'outcome_unknown', finishedAt, caller: null } as const

async function unknownOf(w: World, isPersonal = false, given: Partial<Execution> = {}) {
  const connection = await anyConnection(w, isPersonal ? w.alice : w.admin, isPersonal)
  const execution = { ...unknownRow, ...given }
  return (await askWrite(w, w.alice, connection, { execution })).execution
}

const resolve = (w: World, actor: Actor, id: string, more: object = {}) =>
  resolveExecution(w.deps, actor, id, {
    outcome: 'not_applied',
    note: 'looked it up',
    allowRetry: false,
    ...more,
  })

test('the owner says what became of it: row, journal and waiting callers learn it', async () => {
  const w = await newWorld()
  const { id } = await unknownOf(w)
  let given: Execution | undefined
  const announced = await announcedBy(w, async () => {
    given = await resolve(w, w.alice, id)
  })
  expect(announced).toEqual([id])
  const row = await w.store.executions.get(id)
  expect(row).toEqual(given)
  const said = {
    outcome: 'not_applied',
    by: w.alice.userId,
    note: 'looked it up',
    allowRetry: false,
  }
  expect(row).toMatchObject({ state: 'resolved', code: null, finishedAt, caller: 'detached' })
  expect(row).toMatchObject({ resolution: { ...said, at: expect.any(Number) }, notes: {} })
  const [, event] = await eventsOf(w, id)
  expect(event).toMatchObject({
    kind: 'resolved',
    code: null,
    at: row?.resolution?.at,
    notes: said,
  })
})

test('with a retry allowed nobody comes for it any more', async () => {
  const w = await newWorld()
  const { id } = await unknownOf(w)
  const row = await resolve(w, w.alice, id, { allowRetry: true })
  expect(row).toMatchObject({ state: 'resolved', caller: null, resolution: { allowRetry: true } })
})

test('what was applied is not tried again', async () => {
  const w = await newWorld()
  const { id } = await unknownOf(w)
  const applied = { outcome: 'applied', allowRetry: true }
  await expect(resolve(w, w.alice, id, applied)).rejects.toMatchObject(
    code('bad_request', 'allowRetry'),
  )
  expect((await w.store.executions.get(id))?.state).toBe('unknown')
  await resolve(w, w.alice, id, { ...applied, allowRetry: false })
})

test.each(['succeeded', 'dispatching', 'awaiting_approval', 'refused', 'not_sent'] as const)(
  'what is %s is not resolved',
  async (state) => {
    const w = await newWorld()
    const { id } = await unknownOf(w, false, { state })
    await expect(resolve(w, w.alice, id)).rejects.toMatchObject(code('not_unknown'))
  },
)

test('it is resolved once, whoever comes first', async () => {
  const w = await newWorld()
  const { id } = await unknownOf(w)
  const both = [resolve(w, w.alice, id), resolve(w, w.admin, id, { outcome: 'abandoned' })]
  const ended = await Promise.allSettled(both)
  expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const lost = ended.find((end) => end.status === 'rejected')
  expect(lost?.reason).toMatchObject(code('not_unknown'))
})

test('an administrator resolves for others, but not what went to a personal connection', async () => {
  const w = await newWorld()
  await resolve(w, w.admin, (await unknownOf(w)).id)
  const { id } = await unknownOf(w, true)
  await expect(resolve(w, w.admin, id)).rejects.toMatchObject(code('not_found', 'id'))
  expect((await resolve(w, w.alice, id)).resolution?.by).toBe(w.alice.userId)
})

test('others find nothing, and what there is not is not found', async () => {
  const w = await newWorld()
  const { id } = await unknownOf(w)
  await expect(resolve(w, w.bob, id)).rejects.toMatchObject(code('not_found', 'id'))
  const former = { ...w.bob, role: 'admin' } as const
  await expect(resolve(w, former, id)).rejects.toMatchObject(code('not_found', 'id'))
  for (const none of [w.deps.ids('execution'), 'exe_1', ''])
    await expect(resolve(w, w.admin, none)).rejects.toMatchObject(code('not_found', 'id'))
})
