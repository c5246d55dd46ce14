import type { Approval, Store } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleApproval, exampleExecution, exampleWaiting, newId, start } from './examples.ts'
import { type GetSubject, insertExecutions } from './subject.ts'

const insertApproval = (store: Store, approval: Approval) =>
  store.transact((tx) => tx.approvals.insert([approval]))

const gateways = <T>(subject: GetSubject, work: (store: Store, i: number) => Promise<T>) => {
  const { store, rival } = subject()
  return Promise.all(Array.from({ length: 10 }, (_, i) => work(i % 2 ? store : rival, i)))
}

/** One that was approved, with its execution. */
async function approvedCall(store: Store) {
  const row = exampleWaiting({ state: 'approved' })
  const { id: executionId, sessionId, approvalId } = row
  if (!approvalId) throw new TypeError('an example has an approval')
  await insertExecutions(store, row)
  await insertApproval(
    store,
    exampleApproval({ id: approvalId, executionId, sessionId, state: 'approved' }),
  )
  return { row, approvalId, writeKey: String(row.writeKey) }
}

type ApprovedCall = Awaited<ReturnType<typeof approvedCall>>

/** As the barrier does it: true when it consumed the approval and let the call be sent. */
const consume = (by: Store, { row, approvalId, writeKey }: ApprovedCall) =>
  by.transact(async (tx) => {
    if (!(await tx.executions.holdWriteKeys([writeKey], 'wait')).has(writeKey)) return false
    const approval = (await tx.approvals.lock([approvalId])).get(approvalId)
    await tx.executions.lock([row.id])
    if (approval?.state !== 'approved') return false
    await tx.approvals.update([{ ...approval, state: 'consumed', closedAt: start }])
    const attempt = { ...row, intentId: newId('intent'), barrierAt: start }
    const [sequence] = await tx.executions.dispatch([attempt])
    if (sequence === undefined) throw new Error('consumed, and not to be sent')
    return true
  })

const cancel = (by: Store, { row, approvalId }: ApprovedCall) =>
  by.transact(async (tx) => {
    const approval = (await tx.approvals.lock([approvalId])).get(approvalId)
    if (approval?.state !== 'approved') return false
    await tx.approvals.update([{ ...approval, state: 'cancelled', closedAt: start }])
    const [sequence] = await tx.executions.settle([
      {
        id: row.id,
        from: ['approved'],
        state: 'refused',
        code: 'session_not_open',
        finishedAt: start,
      },
    ])
    if (sequence === undefined) throw new Error('cancelled, and sent')
    return true
  })

export function approvalRacesContract(subject: GetSubject): void {
  test('lets one of many barriers consume an approval', async () => {
    const { store } = subject()
    const call = await approvedCall(store)
    const results = await gateways(subject, (by) => consume(by, call))
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(await store.approvals.get(call.approvalId)).toMatchObject({ state: 'consumed' })
    expect(await store.executions.get(call.row.id)).toMatchObject({
      state: 'dispatching',
      sequence: 2,
    })
  })

  test('lets a barrier or a cancellation win, and never both', async () => {
    const { store, rival } = subject()
    for (let i = 0; i < 20; i++) {
      const call = await approvedCall(store)
      const barrier = () => consume(i % 4 < 2 ? store : rival, call)
      const other = () => cancel(i % 4 < 2 ? rival : store, call)
      const first = i % 2 ? [barrier(), other()] : [other(), barrier()]
      const won = (await Promise.all(first)).filter(Boolean)
      expect(won).toHaveLength(1)
      const states = [
        (await store.approvals.get(call.approvalId))?.state,
        (await store.executions.get(call.row.id))?.state,
      ].join(' ')
      expect(['consumed dispatching', 'cancelled refused']).toContain(states)
    }
    const [sent, taken] = [await approvedCall(store), await approvedCall(store)]
    expect([await consume(store, sent), await cancel(rival, sent)]).toEqual([true, false])
    expect([await cancel(rival, taken), await consume(store, taken)]).toEqual([true, false])
  })
}

export function decisionRacesContract(subject: GetSubject): void {
  test('lets one of many decisions win', async () => {
    const { store } = subject()
    const approval = exampleApproval()
    await insertApproval(store, approval)
    const results = await gateways(subject, (by, i) =>
      by.transact(async (tx) => {
        const now = (await tx.approvals.lock([approval.id])).get(approval.id)
        if (now?.state !== 'pending') return false
        const decision = i % 3 ? 'approve' : 'deny'
        const state = decision === 'approve' ? 'approved' : 'denied'
        const decisions = [{ by: newId('user'), decision, note: `${i}`, at: start }] as const
        await tx.approvals.update([{ ...now, state, decisions, closedAt: null }])
        return true
      }),
    )
    expect(results.filter(Boolean)).toHaveLength(1)
    const winner = results.indexOf(true)
    const after = await store.approvals.get(approval.id)
    expect(after?.decisions).toMatchObject([{ note: `${winner}` }])
    expect(after?.state).toBe(winner % 3 ? 'approved' : 'denied')
  })

  test('keeps every one of many votes', async () => {
    const { store } = subject()
    const approval = exampleApproval({ approvers: 'two' })
    await insertApproval(store, approval)
    await gateways(subject, (by) =>
      by.transact(async (tx) => {
        const now = (await tx.approvals.lock([approval.id])).get(approval.id)
        if (!now) throw new Error('it was there')
        const vote = { by: newId('user'), decision: 'approve', note: null, at: start } as const
        await tx.approvals.update([{ ...now, decisions: [...now.decisions, vote] }])
      }),
    )
    const voters = (await store.approvals.get(approval.id))?.decisions.map(({ by }) => by)
    expect(new Set(voters).size).toBe(10)
  })
}

export function brokenBarriersContract(subject: GetSubject): void {
  test('leaves nothing of a barrier that ends between any two statements', async () => {
    const { store } = subject()
    const call = await approvedCall(store)
    const before = exampleExecution()
    const heard: unknown[] = []
    store.listen((ids) => ids !== 'all' && heard.push(ids))
    const look = async () => ({
      approval: await store.approvals.get(call.approvalId),
      execution: await store.executions.get(call.row.id),
      other: await store.executions.get(before.id),
    })
    const untouched = await look()
    const barrier = (end: number) =>
      store.transact(async (tx) => {
        let step = 0
        const said = async <T>(done: Promise<T>) => {
          const result = await done
          if (++step === end) throw new Error(`ended after ${end}`)
          return result
        }
        await said(tx.executions.holdWriteKeys([call.writeKey], 'try'))
        const locked = await said(tx.approvals.lock([call.approvalId]))
        const approval = locked.get(call.approvalId) as Approval
        await said(tx.approvals.update([{ ...approval, state: 'consumed', closedAt: start }]))
        await said(tx.executions.lock([call.row.id]))
        await said(tx.executions.dispatch([{ ...call.row, intentId: newId('intent') }]))
        await said(tx.executions.insert([before]))
        await said(tx.announce([call.row.id]))
      })
    for (let end = 1; end <= 7; end++) {
      await expect(barrier(end)).rejects.toThrow(`ended after ${end}`)
      expect(await look()).toEqual(untouched)
    }
    await barrier(0)
    expect((await look()).execution?.state).toBe('dispatching')
    expect(heard.length).toBeLessThanOrEqual(1)
  })
}
