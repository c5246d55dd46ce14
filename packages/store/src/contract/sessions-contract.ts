import { expect, test } from 'vitest'
import { exampleBinding, exampleSession, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

export function sessionsContract(subject: GetSubject): void {
  test('gives back a session by id, and by the hash of its token in any state', async () => {
    const { store } = subject()
    const open = exampleSession({ label: 'ci run' })
    const ended = exampleSession({ state: 'ended', endedAt: start, endReason: 'ended_by_user' })
    await store.transact(async (tx) => {
      await tx.sessions.insert(open)
      await tx.sessions.insert(ended)
    })
    expect(await store.sessions.get(open.id)).toEqual(open)
    expect(await store.sessions.byTokenHash(ended.tokenHash)).toEqual(ended)
    expect(await store.sessions.byTokenHash('sha256:other')).toBeUndefined()
    expect(await store.sessions.get(newId('session'))).toBeUndefined()
  })

  test('never has two sessions with one token', async () => {
    const { store } = subject()
    const session = exampleSession()
    await store.transact((tx) => tx.sessions.insert(session))
    const second = exampleSession({ tokenHash: session.tokenHash })
    await expect(store.transact((tx) => tx.sessions.insert(second))).rejects.toThrow(TypeError)
  })

  test('lists newest first by owner and state, as many as asked for, and counts', async () => {
    const { store } = subject()
    const first = exampleSession()
    const second = exampleSession({ ownerId: first.ownerId, state: 'ended' })
    const third = exampleSession({ ownerId: first.ownerId })
    const others = exampleSession()
    await store.transact(async (tx) => {
      for (const session of [others, third, first, second]) await tx.sessions.insert(session)
    })
    const { ownerId } = first
    const list = store.sessions.list.bind(store.sessions)
    expect(await list({ limit: 9 })).toEqual([others, third, second, first])
    expect(await list({ limit: 1 })).toEqual([others])
    expect(await list({ ownerId, limit: 2 })).toEqual([third, second])
    expect(await list({ ownerId, state: 'open', limit: 9 })).toEqual([third, first])
    expect(await list({ state: 'ended', limit: 9 })).toEqual([second])
    expect(await store.sessions.count('open')).toBe(3)
    expect(await store.sessions.count('closing')).toBe(0)
  })

  test('knows which open sessions are past their age or idle time', async () => {
    const { store } = subject()
    const at = (given: object) => exampleSession({ expiresAt: start + 100, idleMs: 50, ...given })
    const aged = at({ lastCallAt: start + 90 })
    const idle = at({ expiresAt: start + 999 })
    const young = at({ expiresAt: start + 999, lastCallAt: start + 60 })
    const closing = at({ state: 'closing' })
    await store.transact(async (tx) => {
      for (const session of [aged, idle, young, closing]) await tx.sessions.insert(session)
    })
    const overdue = async (now: number) => (await store.sessions.overdue(now)).map(({ id }) => id)
    expect(await overdue(start + 49)).toEqual([])
    expect(await overdue(start + 50)).toEqual([idle.id])
    expect(await overdue(start + 99)).toEqual([idle.id])
    expect(await overdue(start + 100)).toEqual([aged.id, idle.id])
    expect(await overdue(start + 110)).toEqual([aged.id, idle.id, young.id])
  })
}

export function sessionMovesContract(subject: GetSubject): void {
  test('moves a session only from the states it is asked for', async () => {
    const { store } = subject()
    const session = exampleSession({ state: 'created', openedAt: null })
    await store.transact((tx) => tx.sessions.insert(session))
    const moved = await store.transact(async (tx) => [
      await tx.sessions.move(session.id, ['verifying', 'open'], 'closing', {}),
      await tx.sessions.move(session.id, [], 'closing', {}),
      await tx.sessions.move(newId('session'), ['created'], 'open', {}),
      await tx.sessions.move(session.id, ['created', 'verifying'], 'open', {
        openedAt: start + 5,
        evidence: { revision: 7 },
      }),
    ])
    expect(moved).toEqual([false, false, false, true])
    const open = {
      ...session,
      state: 'open' as const,
      openedAt: start + 5,
      evidence: { revision: 7 },
    }
    expect(await store.sessions.get(session.id)).toEqual(open)
    const set = { endedAt: start + 9, endReason: 'expired' }
    await store.transact((tx) => tx.sessions.move(session.id, ['open'], 'ended', set))
    expect(await store.sessions.get(session.id)).toEqual({ ...open, state: 'ended', ...set })
  })

  test('lets one of many that end a session do it', async () => {
    const { store, rival } = subject()
    const session = exampleSession()
    await store.transact((tx) => tx.sessions.insert(session))
    const results = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        (i % 2 ? store : rival).transact((tx) =>
          tx.sessions.move(session.id, ['open'], 'closing', { endReason: `reason ${i}` }),
        ),
      ),
    )
    expect(results.filter(Boolean)).toHaveLength(1)
    const { endReason } = (await store.sessions.get(session.id)) ?? {}
    expect(endReason).toBe(`reason ${results.indexOf(true)}`)
  })

  test('moves the time of the last call forward only', async () => {
    const { store } = subject()
    const session = exampleSession()
    await store.transact(async (tx) => {
      await tx.sessions.insert(session)
      await tx.sessions.touch(session.id, start + 60)
      await tx.sessions.touch(session.id, start + 30)
    })
    expect((await store.sessions.get(session.id))?.lastCallAt).toBe(start + 60)
  })
}

export function bindingsContract(subject: GetSubject): void {
  test('gives back the bindings of a session by connection name, then exposed name', async () => {
    const { store } = subject()
    const bind = (connectionName: string, exposedName: string, given = {}) =>
      exampleBinding({ connectionName, exposedName, ...given })
    const first = bind('wiki', 'B')
    const { sessionId } = first
    const second = bind('wiki', 'a', { sessionId })
    const third = bind('wiki-2', '0', { sessionId, credentialId: newId('credential') })
    const fourth = bind('zoo', 'x', { sessionId, mode: 'write_unattended', access: 'write' })
    const rows = [fourth, second, first, third]
    await store.transact((tx) => tx.bindings.insert([...rows, bind('wiki', 'B')]))
    expect(await store.bindings.ofSession(sessionId)).toEqual([first, second, third, fourth])
    expect(await store.bindings.ofSession(newId('session'))).toEqual([])
  })

  test('binds a name of a session once', async () => {
    const { store } = subject()
    const binding = exampleBinding()
    const same = { ...binding, id: newId('binding') }
    const insert = store.transact((tx) => tx.bindings.insert([binding, same]))
    await expect(insert).rejects.toThrow(TypeError)
    expect(await store.bindings.ofSession(binding.sessionId)).toEqual([])
    await store.transact((tx) => tx.bindings.insert([]))
  })
}
