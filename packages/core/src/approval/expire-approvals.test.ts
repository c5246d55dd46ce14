import { expect, test } from 'vitest'
import {
  announcedBy,
  anyConnection,
  askWrite,
  eventsOf,
} from '../../../../tests/authority/asked-writes.ts'
import { newWorld } from '../../../../tests/authority/world.ts'
import { decideApproval } from './decide-approval.ts'
import { expireApprovals } from './expire-approvals.ts'

test('what nobody decided or used in time is refused; what still may be stays', async () => {
  let now = Date.now()
  const w = await newWorld(undefined, () => now)
  const connection = await anyConnection(w, w.admin)
  const ask = (expiresAt: number) =>
    askWrite(w, w.alice, connection, {
      approval: { expiresAt },
      execution: { caller: 'held_back' },
    })
  const pending = await ask(now + 1000)
  const approved = await ask(now + 2000)
  await decideApproval(w.deps, w.alice, approved.approval.id, { decision: 'approve' })
  const waits = await ask(now + 2001)

  now += 999
  expect(await expireApprovals(w.deps, now)).toBe(0)
  now += 1
  expect(
    await announcedBy(w, async () => expect(await expireApprovals(w.deps, now)).toBe(1)),
  ).toEqual([pending.execution.id])
  now += 1000
  expect(await expireApprovals(w.deps, now)).toBe(1)
  for (const { approval, execution } of [pending, approved]) {
    const { expiresAt } = approval
    expect(await w.store.approvals.get(approval.id)).toMatchObject({
      state: 'expired',
      closedAt: expiresAt,
    })
    expect(await w.store.executions.get(execution.id)).toMatchObject({
      state: 'refused',
      code: 'approval_expired',
      caller: null,
      finishedAt: expiresAt,
    })
    expect((await eventsOf(w, execution.id)).at(-1)).toMatchObject({ code: 'approval_expired' })
  }
  expect(await w.store.approvals.get(waits.approval.id)).toEqual(waits.approval)
  expect(await w.store.executions.get(waits.execution.id)).toEqual(waits.execution)
})

test('a gateway whose clock is ahead expires nothing before its time', async () => {
  const w = await newWorld()
  const { approval } = await askWrite(w, w.alice, await anyConnection(w, w.admin))
  expect(await expireApprovals(w.deps, approval.expiresAt + 60_000)).toBe(0)
  expect((await w.store.approvals.get(approval.id))?.state).toBe('pending')
})

test('more than one group expire in one run', async () => {
  const w = await newWorld()
  const connection = await anyConnection(w, w.admin)
  const expiresAt = Date.now() - 1
  for (let n = 0; n < 205; n++) await askWrite(w, w.alice, connection, { approval: { expiresAt } })
  expect(await expireApprovals(w.deps, Date.now())).toBe(205)
  expect(await w.store.approvals.count('expired')).toBe(205)
})
