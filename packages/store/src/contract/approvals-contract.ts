import type { Approval, Store } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleApproval, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

const insert = (store: Store, ...approvals: Approval[]) =>
  store.transact((tx) => tx.approvals.insert(approvals))

export function approvalsContract(subject: GetSubject): void {
  test('gives back an approval by id and by execution, exactly as it was', async () => {
    const { store } = subject()
    const decided = exampleApproval({
      state: 'denied',
      approvers: 'role:approver',
      excludesRequester: true,
      callId: 'call \0 \ud800',
      decisions: [
        { by: newId('user'), decision: 'approve', note: null, at: start + 1 },
        { by: newId('user'), decision: 'deny', note: 'no \0\u0001\u202e\ud800\r\n', at: start + 2 },
      ],
      closedAt: start + 2,
    })
    const other = exampleApproval()
    await insert(store, decided, other)
    expect(await store.approvals.get(decided.id)).toEqual(decided)
    expect(await store.approvals.get(newId('approval'))).toBeUndefined()
    const asked = [newId('execution'), other.executionId, decided.executionId]
    expect(await store.approvals.ofExecutions(asked)).toEqual([decided, other])
    expect(await store.approvals.ofExecutions([])).toEqual([])
  })

  test('has one approval for each execution', async () => {
    const { store } = subject()
    const first = exampleApproval()
    await insert(store, first)
    const { executionId } = first
    await expect(insert(store, exampleApproval({ executionId }))).rejects.toThrow(TypeError)
    await expect(insert(store, exampleApproval({ id: first.id }))).rejects.toThrow(TypeError)
    expect(await store.approvals.list({ limit: 9 })).toEqual([first])
  })

  test('counts by state, and what is pending of each session', async () => {
    const { store } = subject()
    const [one, two, none] = [newId('session'), newId('session'), newId('session')]
    await insert(
      store,
      exampleApproval({ sessionId: one }),
      exampleApproval({ sessionId: one }),
      exampleApproval({ sessionId: one, state: 'approved' }),
      exampleApproval({ sessionId: two }),
      exampleApproval({ state: 'consumed' }),
    )
    expect(await store.approvals.count('pending')).toBe(3)
    expect(await store.approvals.count('consumed')).toBe(1)
    expect(await store.approvals.count('expired')).toBe(0)
    const pending = await store.transact((tx) => tx.approvals.countPending([one, none]))
    expect(pending).toEqual(
      new Map([
        [one, 2],
        [none, 0],
      ]),
    )
    expect(await store.transact((tx) => tx.approvals.countPending([]))).toEqual(new Map())
  })
}

export function approvalListsContract(subject: GetSubject): void {
  test('lists newest first by state, session, and who may see them', async () => {
    const { store } = subject()
    const first = exampleApproval({ approvers: 'role:admin' })
    const second = exampleApproval({ ownerId: first.ownerId, state: 'consumed' })
    const third = exampleApproval({ sessionId: first.sessionId, approvers: 'role:approver' })
    const others = exampleApproval()
    await insert(store, third, others, first, second)
    const list = async (filter: object) =>
      (await store.approvals.list({ limit: 9, ...filter })).map(({ id }) => id)
    expect(await list({})).toEqual([others.id, third.id, second.id, first.id])
    expect(await list({ limit: 1 })).toEqual([others.id])
    expect(await list({ state: 'consumed' })).toEqual([second.id])
    expect(await list({ sessionId: first.sessionId })).toEqual([third.id, first.id])
    const { ownerId } = first
    const visibleTo = (approvers: string[]) => ({ visibleTo: { ownerId, approvers } })
    expect(await list(visibleTo([]))).toEqual([second.id, first.id])
    expect(await list(visibleTo(['role:approver', 'two']))).toEqual([third.id, second.id, first.id])
    expect(await list({ ...visibleTo(['role:approver']), state: 'pending', limit: 1 })).toEqual([
      third.id,
    ])
  })

  test('knows which are overdue, pending or approved, the longest overdue first', async () => {
    const { store } = subject()
    const at = (expiresAt: number, given: Partial<Approval> = {}) =>
      exampleApproval({ expiresAt, ...given })
    const late = at(start + 20)
    const early = at(start + 10, { state: 'approved' })
    const same = at(start + 10)
    const closed = at(start + 5, { state: 'cancelled' })
    await insert(store, late, early, same, closed)
    const overdue = async (now: number, limit = 9) =>
      (await store.approvals.overdue(now, limit)).map(({ id }) => id)
    expect(await overdue(start + 9)).toEqual([])
    expect(await overdue(start + 10)).toEqual([early.id, same.id])
    expect(await overdue(start + 20)).toEqual([early.id, same.id, late.id])
    expect(await overdue(start + 20, 1)).toEqual([early.id])
  })
}

export function approvalMovesContract(subject: GetSubject): void {
  const update = (store: Store, ...approvals: Approval[]) =>
    store.transact(async (tx) => {
      await tx.approvals.lock(approvals.map(({ id }) => id))
      await tx.approvals.update(approvals)
    })

  test('writes state, decisions and times, and nothing else', async () => {
    const { store } = subject()
    const before = exampleApproval({ approvers: 'two' })
    const untouched = exampleApproval()
    await insert(store, before, untouched)
    const first = { by: newId('user'), decision: 'approve', note: 'nul \0', at: start } as const
    await update(store, { ...before, decisions: [first] })
    expect(await store.approvals.get(before.id)).toEqual({ ...before, decisions: [first] })
    const decisions = [first, { ...first, by: newId('user') }]
    const approved = { state: 'approved', decisions, expiresAt: start + 60_000 } as const
    await update(store, { ...before, ...approved, callId: 'other', approvers: 'owner' })
    expect(await store.approvals.get(before.id)).toEqual({ ...before, ...approved })
    await update(store, { ...before, ...approved, state: 'consumed', closedAt: start + 9 })
    expect(await store.approvals.get(before.id)).toMatchObject({
      state: 'consumed',
      closedAt: start + 9,
    })
    expect(await store.approvals.get(untouched.id)).toEqual(untouched)
  })

  test('refuses a move that there is not, and an approval that does not exist', async () => {
    const { store } = subject()
    const states = ['pending', 'approved', 'consumed', 'denied', 'expired', 'cancelled'] as const
    const allowed: Record<string, readonly string[]> = {
      pending: ['pending', 'approved', 'denied', 'expired', 'cancelled'],
      approved: ['approved', 'consumed', 'expired', 'cancelled'],
    }
    for (const from of states) {
      for (const to of states) {
        const approval = exampleApproval({ state: from })
        await insert(store, approval)
        const moved = update(store, { ...approval, state: to, closedAt: start })
        if (allowed[from]?.includes(to)) await moved
        else await expect(moved, `${from} to ${to}`).rejects.toThrow(TypeError)
      }
    }
    await expect(update(store, exampleApproval())).rejects.toThrow(TypeError)
  })

  test('locks those that exist, by id', async () => {
    const { store } = subject()
    const [first, second] = [exampleApproval(), exampleApproval()]
    await insert(store, second, first)
    const locked = await store.transact((tx) =>
      tx.approvals.lock([second.id, newId('approval'), first.id]),
    )
    expect([...locked]).toEqual([
      [first.id, first],
      [second.id, second],
    ])
    expect(await store.transact((tx) => tx.approvals.lock([]))).toEqual(new Map())
  })
}
