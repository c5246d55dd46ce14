import type { Service, ToldCondition } from '@sallyport/core'
import type { ConnectionId, OAuthClientId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { exampleConnection, newId, start } from './examples.ts'
import { exampleOAuthClient, exampleOAuthConnection } from './oauth-examples.ts'
import { type GetSubject, insertConnections } from './subject.ts'

function exampleService(given: Partial<Service> = {}): Service {
  const id = newId('service')
  return {
    id,
    name: `s${id.slice(-8)}`,
    resource: 'https://mcp.example.com/mcp',
    method: 'oauth',
    scopeWanted: ['files:read'],
    clientId: null,
    createdBy: newId('user'),
    createdAt: start,
    ...given,
  }
}

export function servicesContract(subject: GetSubject): void {
  test('gives back services by name, in the order of names, each name once', async () => {
    const { store } = subject()
    const [b, a] = [
      exampleService({ name: 'b' }),
      exampleService({ name: 'a', clientId: newId('oauthClient') }),
    ]
    const inserted = await store.transact(async (tx) => [
      await tx.services.insert(b),
      await tx.services.insert(a),
      await tx.services.insert(exampleService({ name: 'a' })),
    ])
    expect(inserted).toEqual([true, true, false])
    expect(await store.services.list()).toEqual([a, b])
    expect(await store.services.byName('a')).toEqual(a)
    expect(await store.services.byName('A')).toBeUndefined()
    expect(await store.transact((tx) => tx.services.lock('b'))).toEqual(b)
    expect(await store.transact((tx) => tx.services.lock('c'))).toBeUndefined()
  })

  test('removes one with its client, unless a connection uses that', async () => {
    const { store } = subject()
    const services = [exampleService({ name: 'free' }), exampleService({ name: 'used' })]
    const clients = services.map(({ id }) => exampleOAuthClient({ connectionId: id }))
    const other = exampleOAuthClient({ connectionId: newId('connection') })
    await store.transact(async (tx) => {
      for (const service of services) await tx.services.insert(service)
      for (const client of [...clients, other]) await tx.oauth.insertClient(client)
      const clientId = clients[1]?.id as OAuthClientId
      await tx.oauth.putConnection(exampleOAuthConnection({ clientId }))
    })
    const removed = await store.transact(async (tx) => {
      const results: boolean[] = []
      for (const { id } of [...services, exampleService()])
        results.push(await tx.services.remove(id))
      return results
    })
    expect(removed).toEqual([true, true, false])
    expect(await store.services.list()).toEqual([])
    const left = [...clients, other].map(({ id }) => store.oauth.client(id))
    expect(await Promise.all(left)).toEqual([undefined, clients[1], other])
  })

  test('the client of a service is no registration that others find', async () => {
    const { store } = subject()
    const client = exampleOAuthClient({ connectionId: newId('service') })
    await store.transact((tx) => tx.oauth.insertClient(client))
    expect(await store.oauth.registrations(client.scope, 9)).toEqual([])
  })
}

export function conditionsContract(subject: GetSubject): void {
  const told = (connectionId: ConnectionId, given: Partial<ToldCondition> = {}): ToldCondition => ({
    connectionId,
    condition: 'ok',
    code: null,
    since: start,
    ...given,
  })
  const put = (one: ToldCondition, before: ToldCondition | undefined, store = subject().store) =>
    store.transact((tx) => tx.conditions.put(one, before))

  test('keeps what was told last of connections that are there, by id', async () => {
    const { store } = subject()
    const rows = [exampleConnection(), exampleConnection({ state: 'deleted' }), exampleConnection()]
    await insertConnections(store, ...rows)
    const all = rows.map(({ id }) => told(id))
    for (const one of all.toReversed()) expect(await put(one, undefined)).toBe(true)
    expect(await store.conditions.list()).toEqual([all[0], all[2]])
    const [first] = all as [ToldCondition]
    const next = told(first.connectionId, {
      condition: 'unreachable',
      code: 'upstream_dns',
      since: start + 1,
    })
    expect(await put(next, first)).toBe(true)
    expect(await put(next, first)).toBe(false)
    expect(await put(first, undefined)).toBe(false)
    expect((await store.conditions.list())[0]).toEqual(next)
  })

  test('of two gateways that notice at once, one tells', async () => {
    const { store, rival } = subject()
    const connection = exampleConnection()
    await insertConnections(store, connection)
    let before: ToldCondition | undefined
    for (let round = 1; round <= 10; round++) {
      const next = told(connection.id, { since: start + round })
      const won = await Promise.all([store, rival].map((one) => put(next, before, one)))
      expect(won.toSorted()).toEqual([false, true])
      before = next
    }
  })
}
