import { decideApproval } from '@sallyport/core'
import { expect, test } from 'vitest'
import {
  anyConnection,
  askWrite,
  eventsOf,
  openSessionOf,
} from '../../../../tests/authority/asked-writes.ts'
import { newWorld } from '../../../../tests/authority/world.ts'
import { endRestored } from './restored.ts'

test('of a restored backup nothing waits for a person any more and no session may call', async () => {
  const w = await newWorld()
  const connection = await anyConnection(w, w.admin)
  const session = await openSessionOf(w, w.alice)
  const closing = await openSessionOf(w, w.bob, { state: 'closing' })
  const ask = (execution = {}) => askWrite(w, w.alice, connection, { session, execution })
  const pending = await ask()
  const approved = await ask({ caller: 'held_back' })
  await decideApproval(w.deps, w.alice, approved.approval.id, { decision: 'approve' })
  const unknown = await ask({ state: 'unknown' })
  const dispatching = await ask({ state: 'dispatching' })
  const log: [object, string][] = []
  await endRestored(w.deps, { warn: (fields, text) => log.push([fields, text]) })

  for (const { approval, execution } of [pending, approved]) {
    expect((await w.store.approvals.get(approval.id))?.state).toBe('expired')
    const row = await w.store.executions.get(execution.id)
    expect(row).toMatchObject({ state: 'refused', code: 'approval_expired', caller: null })
    expect((await eventsOf(w, execution.id)).at(-1)).toMatchObject({ code: 'approval_expired' })
  }
  for (const { execution } of [unknown, dispatching])
    expect(await w.store.executions.get(execution.id)).toEqual(execution)
  for (const { id } of [session, closing])
    expect(await w.store.sessions.get(id)).toMatchObject({ state: 'ended' })
  expect(log).toEqual([[{ refused: 2, ended: 2 }, expect.stringContaining('restored backup')]])
})

test('however many wait', async () => {
  const w = await newWorld()
  const connection = await anyConnection(w, w.admin)
  const session = await openSessionOf(w, w.alice)
  for (let n = 0; n < 501; n++) await askWrite(w, w.alice, connection, { session })
  await endRestored(w.deps, { warn: () => {} })
  expect(await w.store.approvals.count('expired')).toBe(501)
})
