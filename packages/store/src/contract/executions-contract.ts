import type { Execution, ExecutionState } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleExecution, newId } from './examples.ts'
import { type GetSubject, insertExecutions } from './subject.ts'

const write = (writeKey: string, given: Partial<Execution> = {}) =>
  exampleExecution({ writeKey, access: 'write', mode: 'write_unattended', ...given })

export function executionsContract(subject: GetSubject): void {
  test('gives back an execution by id and by call', async () => {
    const { store } = subject()
    const full = write('key', {
      state: 'tool_error',
      code: 'upstream_http_4xx',
      field: '/page',
      finishedAt: 9,
      resultDigest: 'sha256:r',
      resultBytes: 12,
      tookMs: 1.5,
      notes: { serverRequests: 2 },
    })
    const bare = exampleExecution({
      state: 'refused',
      code: 'arguments_refused',
      connectionId: null,
      mode: null,
      access: null,
      bindingId: null,
      bindingHash: null,
      grantId: null,
      argumentsDigest: null,
      intentId: null,
      intentDigest: null,
      workerInstance: null,
      notAfter: null,
      intentIssuedAt: null,
      barrierAt: null,
    })
    expect(await insertExecutions(store, full, bare)).toEqual(['inserted', 'inserted'])
    expect(await store.executions.get(full.id)).toEqual(full)
    expect(await store.executions.get(bare.id)).toEqual(bare)
    expect(await store.executions.byCall(bare.sessionId, bare.callId)).toEqual(bare)
    expect(await store.executions.byCall(full.sessionId, bare.callId)).toBeUndefined()
    expect(await store.executions.get(newId('execution'))).toBeUndefined()
  })
}

export function executionListsContract(subject: GetSubject): void {
  test('lists newest first by owner, session and state, as many as asked for', async () => {
    const { store } = subject()
    const first = exampleExecution()
    const { ownerId, sessionId } = first
    const second = exampleExecution({ ownerId, state: 'succeeded' })
    const third = exampleExecution({ ownerId, sessionId, state: 'succeeded' })
    await insertExecutions(store, third, first, second, exampleExecution())
    const list = async (filter: object) => {
      const rows = await store.executions.list({ limit: 9, ...filter })
      return rows.map(({ id }) => id)
    }
    expect(await list({ ownerId })).toEqual([third.id, second.id, first.id])
    expect(await list({ ownerId, limit: 2 })).toEqual([third.id, second.id])
    expect(await list({ sessionId })).toEqual([third.id, first.id])
    expect(await list({ state: 'succeeded' })).toEqual([third.id, second.id])
    expect(await list({ ownerId, sessionId, state: 'dispatching' })).toEqual([first.id])
    expect(await list({})).toHaveLength(4)
  })

  test('counts by state', async () => {
    const { store } = subject()
    const states = ['dispatching', 'unknown', 'unknown', 'succeeded', 'refused'] as const
    await insertExecutions(store, ...states.map((state) => exampleExecution({ state })))
    expect(await store.executions.count('dispatching')).toBe(1)
    expect(await store.executions.count('unknown')).toBe(2)
    expect(await store.executions.count('succeeded')).toBe(1)
    expect(await store.executions.count('lost')).toBe(0)
  })

  test('knows the open work of a session', async () => {
    const { store } = subject()
    const { sessionId } = exampleExecution()
    const states: ExecutionState[] = [
      'refused',
      'awaiting_approval',
      'approved',
      'awaiting_answer',
      'dispatching',
      'succeeded',
      'tool_error',
      'not_sent',
      'lost',
      'unknown',
      'resolved',
    ]
    const rows = states.map((state) => exampleExecution({ sessionId, state }))
    await insertExecutions(store, ...rows, exampleExecution())
    const open = await store.executions.unfinishedOf(sessionId)
    expect(open.map(({ state }) => state)).toEqual(states.slice(1, 5))
  })
}

export function insertionContract(subject: GetSubject): void {
  test('inserts each row of a group on its own', async () => {
    const { store } = subject()
    const first = write('key a')
    const { sessionId, callId } = first
    await insertExecutions(store, first)
    const group = [
      exampleExecution(),
      exampleExecution({ sessionId, callId }),
      write('key a'),
      write('key b'),
      exampleExecution({ callId }),
      write('key a', { sessionId, callId }),
      write('key a', { state: 'refused', code: 'paused' }),
      exampleExecution({ sessionId }),
    ]
    expect(await insertExecutions(store, ...group)).toEqual([
      'inserted',
      'call',
      'write',
      'inserted',
      'inserted',
      'call',
      'inserted',
      'inserted',
    ])
    const inserted = await store.executions.list({ limit: 99 })
    expect(inserted).toHaveLength(6)
  })

  test('inserts nothing when there is nothing to insert', async () => {
    expect(await insertExecutions(subject().store)).toEqual([])
  })

  test('lets the first of a group win a callId and a write key', async () => {
    const { store } = subject()
    const { sessionId } = exampleExecution()
    const group = [
      write('k', { sessionId, callId: 'z' }),
      write('k', { sessionId, callId: 'a' }),
      exampleExecution({ sessionId, callId: 'm', tool: 'first' }),
      exampleExecution({ sessionId, callId: 'm', tool: 'second' }),
    ]
    expect(await insertExecutions(store, ...group)).toEqual([
      'inserted',
      'write',
      'inserted',
      'call',
    ])
    expect((await store.executions.byCall(sessionId, 'm'))?.tool).toBe('first')
    expect(await store.executions.byCall(sessionId, 'a')).toBeUndefined()
  })
}

export function refusalsContract(subject: GetSubject): void {
  test('gives a write key to the next when the first is refused for its callId', async () => {
    const { store } = subject()
    const earlier = exampleExecution()
    await insertExecutions(store, earlier)
    const { sessionId, callId } = earlier
    expect(await insertExecutions(store, write('k', { sessionId, callId }), write('k'))).toEqual([
      'call',
      'inserted',
    ])
  })

  test('gives a callId to the next when the first is refused for its write key', async () => {
    const { store } = subject()
    await insertExecutions(store, write('k'))
    const blocked = write('k')
    const { sessionId, callId } = blocked
    const next = exampleExecution({ sessionId, callId })
    expect(await insertExecutions(store, blocked, next)).toEqual(['write', 'inserted'])
  })

  test('never inserts a second row with one id', async () => {
    const { store } = subject()
    const row = exampleExecution()
    await insertExecutions(store, row)
    await expect(insertExecutions(store, exampleExecution({ id: row.id }))).rejects.toThrow(
      TypeError,
    )
  })
}

export function writeKeyContract(subject: GetSubject): void {
  test('keeps an identical write out while one is dispatching or unknown, in any session', async () => {
    const { store } = subject()
    const first = write('k')
    await insertExecutions(store, first)
    expect(await insertExecutions(store, write('k'))).toEqual(['write'])
    const settle = (state: 'unknown' | 'resolved', from: ExecutionState) =>
      store.transact((tx) =>
        tx.executions.settle([{ id: first.id, from: [from], state, finishedAt: 1 }]),
      )
    await settle('unknown', 'dispatching')
    expect(await insertExecutions(store, write('k'))).toEqual(['write'])
    await settle('resolved', 'unknown')
    expect(await insertExecutions(store, write('k'))).toEqual(['inserted'])
  })

  test('records an identical write that is not dispatched', async () => {
    const { store } = subject()
    await insertExecutions(store, write('k'))
    const waiting = ['awaiting_approval', 'approved', 'refused', 'not_sent'] as const
    expect(await insertExecutions(store, ...waiting.map((state) => write('k', { state })))).toEqual(
      waiting.map(() => 'inserted'),
    )
    expect(await insertExecutions(store, write('k'))).toEqual(['write'])
  })

  test('frees the key in the transaction that settles its write', async () => {
    const { store } = subject()
    const first = write('k')
    await insertExecutions(store, first)
    const results = await store.transact(async (tx) => {
      await tx.executions.settle([
        { id: first.id, from: ['dispatching'], state: 'succeeded', finishedAt: 1 },
      ])
      return tx.executions.insert([write('k')])
    })
    expect(results).toEqual(['inserted'])
  })

  test('lets one of many identical writes through, whoever asks', async () => {
    const { store, rival } = subject()
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        insertExecutions(i % 2 ? store : rival, exampleExecution(), write('k')),
      ),
    )
    expect(results.every(([read]) => read === 'inserted')).toBe(true)
    expect(results.filter(([, second]) => second === 'inserted')).toHaveLength(1)
  })

  test('lets one of many rows of one call through, whoever asks', async () => {
    const { store, rival } = subject()
    const { sessionId, callId } = exampleExecution()
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        insertExecutions(i % 2 ? store : rival, exampleExecution({ sessionId, callId })),
      ),
    )
    expect(results.flat().filter((result) => result === 'inserted')).toHaveLength(1)
    expect(results.flat().filter((result) => result === 'call')).toHaveLength(9)
  })
}
