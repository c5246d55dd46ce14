import type { Connection, Scope } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleConnection, exampleObservation, newId, orgScope, start } from './examples.ts'
import { type GetSubject, insertConnections, plenty } from './subject.ts'

const projectScope = 'project:docs' as Scope

export function connectionsContract(subject: GetSubject): void {
  test('gives back a connection by id and by name', async () => {
    const { store } = subject()
    const connection = exampleConnection({ credentialId: newId('credential'), required: true })
    const draft = exampleConnection({
      state: 'draft',
      endpointSeal: null,
      endpointClear: null,
      everEnabled: false,
      ownerId: newId('user'),
    })
    expect(await insertConnections(store, connection, draft)).toEqual(['inserted', 'inserted'])
    expect(await store.connections.get(connection.id)).toEqual(connection)
    expect(await store.connections.get(draft.id)).toEqual(draft)
    expect(await store.connections.byName(orgScope, connection.name)).toEqual(connection)
    expect(await store.connections.byName(projectScope, connection.name)).toBeUndefined()
    expect(await store.connections.get(newId('connection'))).toBeUndefined()
  })

  test('has one connection of a name in each scope', async () => {
    const { store } = subject()
    const first = exampleConnection({ name: 'wiki' })
    const second = exampleConnection({ name: 'wiki' })
    const elsewhere = exampleConnection({ name: 'wiki', scope: projectScope })
    expect(await insertConnections(store, first, second, elsewhere)).toEqual([
      'inserted',
      'name',
      'inserted',
    ])
    const again = { ...first, name: 'other' }
    expect(await insertConnections(store, again)).toEqual(['id'])
  })

  test('gives the name of a deleted connection to another, and still finds the deleted one', async () => {
    const { store } = subject()
    const deleted = exampleConnection({ name: 'wiki', state: 'deleted' })
    const next = exampleConnection({ name: 'wiki' })
    expect(await insertConnections(store, deleted, next)).toEqual(['inserted', 'inserted'])
    expect(await store.connections.byName(orgScope, 'wiki')).toEqual(next)
    expect(await store.connections.get(deleted.id)).toEqual(deleted)
    expect(await store.connections.getMany([next.id, deleted.id])).toHaveLength(2)
    expect(await store.connections.list()).toEqual([next])
  })

  test('lists by scope, then name', async () => {
    const { store } = subject()
    const b = exampleConnection({ name: 'b' })
    const a = exampleConnection({ name: 'a' })
    const c = exampleConnection({ name: 'c', scope: projectScope })
    await insertConnections(store, c, b, a)
    expect(await store.connections.list()).toEqual([a, b, c])
    expect(await store.connections.list([projectScope, 'personal:x' as Scope])).toEqual([c])
    expect(await store.connections.list([])).toEqual([])
    expect(await store.connections.getMany([])).toEqual([])
  })
}

export function connectionChangesContract(subject: GetSubject): void {
  test('replaces a connection whose version has not moved', async () => {
    const { store } = subject()
    const before = exampleConnection()
    const taken = exampleConnection({ name: 'taken' })
    await insertConnections(store, before, taken)
    const update = (after: Connection, expected: number) =>
      store.transact((tx) => tx.connections.update(after, expected))
    const after = { ...before, name: 'renamed', state: 'disabled', version: 2 } as const
    expect(await update(after, 1)).toBe('updated')
    expect(await update({ ...after, version: 3 }, 1)).toBe('stale')
    expect(await update({ ...after, id: newId('connection'), version: 3 }, 2)).toBe('stale')
    expect(await update({ ...after, name: 'taken', version: 3 }, 2)).toBe('name')
    await expect(update(after, 2)).rejects.toThrow(TypeError)
    expect(await store.connections.get(before.id)).toEqual(after)
  })

  test('goes on in the transaction after a name was taken', async () => {
    const { store } = subject()
    const [mine, taken] = [exampleConnection(), exampleConnection()]
    await insertConnections(store, mine, taken)
    await store.transact(async (tx) => {
      const renamed = { ...mine, name: taken.name, version: 2 }
      expect(await tx.connections.update(renamed, 1)).toBe('name')
      expect(await tx.connections.update({ ...renamed, name: 'free' }, 1)).toBe('updated')
    })
    expect((await store.connections.get(mine.id))?.name).toBe('free')
  })
}

export function connectionRacesContract(subject: GetSubject): void {
  test('lets one of many changes from one version through', async () => {
    const { store, rival } = subject()
    const before = exampleConnection()
    await insertConnections(store, before)
    const changes = Array.from({ length: 8 }, (_, i) =>
      (i % 2 ? store : rival).transact((tx) =>
        tx.connections.update({ ...before, version: 2, updatedAt: i }, 1),
      ),
    )
    const results = await Promise.all(changes)
    expect(results.filter((result) => result === 'updated')).toHaveLength(1)
    const winner = results.indexOf('updated')
    expect((await store.connections.get(before.id))?.updatedAt).toBe(winner)
  })

  test('holds the limit of a scope, not counting deleted ones and other scopes', async () => {
    const { store } = subject()
    const full = Array.from({ length: plenty }, () => exampleConnection())
    const deleted = exampleConnection({ state: 'deleted' })
    await insertConnections(store, deleted, exampleConnection({ scope: projectScope }), ...full)
    expect(await insertConnections(store, exampleConnection())).toEqual(['limit'])
    const name = full[0]?.name ?? ''
    expect(await insertConnections(store, exampleConnection({ name }))).toEqual(['name'])
    const elsewhere = exampleConnection({ scope: projectScope })
    expect(await insertConnections(store, elsewhere)).toEqual(['inserted'])
    await store.transact((tx) =>
      tx.connections.update({ ...(full[0] as Connection), state: 'deleted', version: 2 }, 1),
    )
    expect(await insertConnections(store, exampleConnection())).toEqual(['inserted'])
  })

  test('holds the limit of a scope also when two gateways insert at once', async () => {
    const { store, rival } = subject()
    const most = Array.from({ length: plenty - 2 }, () => exampleConnection())
    await insertConnections(store, ...most)
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        insertConnections(i % 2 ? store : rival, exampleConnection()),
      ),
    )
    expect(results.flat().toSorted()).toEqual([
      ...Array.from({ length: 2 }, () => 'inserted'),
      ...Array.from({ length: 8 }, () => 'limit'),
    ])
    expect(await store.connections.list([orgScope])).toHaveLength(plenty)
  })
}

export function observationsContract(subject: GetSubject): void {
  test('keeps the newest observation of a connection', async () => {
    const { store } = subject()
    const observe = (given: ReturnType<typeof exampleObservation>) =>
      store.transact((tx) => tx.connections.observe(given))
    const first = exampleObservation({ connectionRevision: 2 })
    const { connectionId } = first
    expect(await store.connections.observation(connectionId)).toBeUndefined()
    expect(await observe(first)).toBe(true)
    expect(await observe({ ...first, at: start - 1 })).toBe(false)
    expect(await observe({ ...first, at: start + 9, connectionRevision: 1 })).toBe(false)
    const next = { ...first, at: start + 1, connectionRevision: 3, tools: {} }
    expect(await observe(next)).toBe(true)
    expect(await observe(next)).toBe(true)
    expect(await store.connections.observation(connectionId)).toEqual(next)
  })
}
