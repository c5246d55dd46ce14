import type { OAuthFlow, RefreshLease, Scope } from '@sallyport/core'
import type { IntentId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { exampleConnection, newId, start } from './examples.ts'
import {
  exampleOAuthClient,
  exampleOAuthConnection,
  exampleOAuthFlow,
  exampleRefreshLease,
} from './oauth-examples.ts'
import { type GetSubject, insertConnections, type Subject } from './subject.ts'

export function oauthClientsContract(subject: GetSubject): void {
  test('keeps one row for a connection, the newest', async () => {
    const { store } = subject()
    const row = exampleOAuthConnection()
    const next = {
      ...row,
      issuer: 'https://login.example',
      scopeWanted: [],
      scopeRequired: ['files:write'],
      server: { authorization: 'https://login.example', token: 'https://tokens.example' },
    }
    await store.transact((tx) => tx.oauth.putConnection(row))
    expect(await store.oauth.connection(row.connectionId)).toEqual(row)
    await store.transact((tx) => tx.oauth.putConnection(next))
    expect(await store.oauth.connection(row.connectionId)).toEqual(next)
    expect(await store.oauth.connection(newId('connection'))).toBeUndefined()
  })

  test('lists those whose connection is there, by id', async () => {
    const { store } = subject()
    const connections = [
      exampleConnection(),
      exampleConnection({ state: 'deleted' }),
      exampleConnection(),
    ]
    await insertConnections(store, ...connections)
    const rows = connections.map(({ id }) => exampleOAuthConnection({ connectionId: id }))
    await store.transact(async (tx) => {
      for (const row of rows.toReversed()) await tx.oauth.putConnection(row)
    })
    expect(await store.oauth.connections()).toEqual([rows[0], rows[2]])
  })

  test('gives registrations of a scope from the newest, and nobody else the client of a connection', async () => {
    const { store } = subject()
    const mine = [exampleOAuthClient(), exampleOAuthClient(), exampleOAuthClient()]
    const typed = exampleOAuthClient({ connectionId: newId('connection'), issuer: null })
    const others = exampleOAuthClient({ scope: 'project:web' as Scope })
    await store.transact(async (tx) => {
      for (const row of [...mine, typed, others]) {
        expect(await tx.oauth.insertClient(row)).toBe(true)
        expect(await tx.oauth.insertClient(row)).toBe(false)
      }
    })
    expect(await store.oauth.registrations('org' as Scope, 2)).toEqual([mine[2], mine[1]])
    expect(await store.oauth.client(typed.id)).toEqual(typed)
    expect(await store.oauth.client(newId('oauthClient'))).toBeUndefined()
  })
}

const insertFlow = ({ store }: Subject, flow: OAuthFlow) =>
  store.transact((tx) => tx.oauth.insertFlow(flow))

export function oauthFlowsContract(subject: GetSubject): void {
  const openOf = async (...flows: OAuthFlow[]) => {
    const ids = new Set(flows.map(({ id }) => id))
    return (await subject().store.oauth.openFlows()).filter(({ id }) => ids.has(id))
  }

  test('a state is taken once, and one that is absent, used or over is nobody’s', async () => {
    const { store } = subject()
    const flow = exampleOAuthFlow()
    const late = exampleOAuthFlow({ expiresAt: start })
    expect(await insertFlow(subject(), flow)).toBe(true)
    expect(await insertFlow(subject(), flow)).toBe(false)
    expect(await insertFlow(subject(), exampleOAuthFlow({ stateHash: flow.stateHash }))).toBe(false)
    await insertFlow(subject(), late)
    const finisher = newId('instance')
    const take = (hash: string) => store.transact((tx) => tx.oauth.takeFlow(hash, start, finisher))
    expect(await take(flow.stateHash)).toEqual({ ...flow, state: 'finishing', finisher })
    for (const hash of [flow.stateHash, late.stateHash, 'sha256:nobody', ''])
      expect(await take(hash)).toBeUndefined()
    expect(await store.oauth.flow(late.id)).toEqual(late)
  })

  test('of two that bring one state at once, one gets it', async () => {
    const { store, rival } = subject()
    for (let round = 0; round < 10; round++) {
      const flow = exampleOAuthFlow()
      await insertFlow(subject(), flow)
      const taken = await Promise.all(
        [store, rival, store, rival].map((one) =>
          one.transact((tx) => tx.oauth.takeFlow(flow.stateHash, start, newId('instance'))),
        ),
      )
      expect(taken.filter((one) => one !== undefined)).toHaveLength(1)
    }
  })

  test('is closed, and dropped when its time is over', async () => {
    const { store } = subject()
    const [flow, other] = [exampleOAuthFlow(), exampleOAuthFlow({ expiresAt: start + 900_001 })]
    await insertFlow(subject(), flow)
    await insertFlow(subject(), other)
    const closed = { ...flow, state: 'failed', code: 'oauth_denied', pending: '' } as const
    const close = (row: OAuthFlow) => store.transact((tx) => tx.oauth.closeFlow(row))
    expect(await openOf(flow, other)).toEqual([flow, other])
    expect(await close(closed)).toBe(true)
    expect(await store.oauth.flow(flow.id)).toEqual(closed)
    expect(await openOf(flow, other)).toEqual([other])
    // What has ended stays as it ended.
    expect(await close({ ...closed, state: 'done', code: null })).toBe(false)
    expect(await close(exampleOAuthFlow())).toBe(false)
    expect(await store.oauth.flow(flow.id)).toEqual(closed)
    await store.transact((tx) => tx.oauth.dropFlows(start + 900_001))
    expect(await store.oauth.flow(flow.id)).toBeUndefined()
    expect(await store.oauth.flow(other.id)).toEqual(other)
  })
}

function leasesOf(subject: GetSubject) {
  const take = (lease: RefreshLease) => subject().store.transact((tx) => tx.oauth.takeLease(lease))
  const move = (intentId: IntentId, lease: RefreshLease) =>
    subject().store.transact((tx) => tx.oauth.moveLease(intentId, lease))
  const drop = ({ credentialId, intentId }: RefreshLease) =>
    subject().store.transact((tx) => tx.oauth.dropLease(credentialId, intentId))
  const held = async ({ credentialId }: RefreshLease) =>
    (await subject().store.oauth.leases()).filter((one) => one.credentialId === credentialId)
  return { take, move, drop, held }
}

export function refreshLeasesContract(subject: GetSubject): void {
  const { take, move, drop, held } = leasesOf(subject)

  test('is held until its order drops it, or gives it on', async () => {
    const lease = exampleRefreshLease()
    const rival = {
      ...lease,
      ...{
        credentialVersion: 2,
        holder: newId('instance'),
        intentId: newId('intent'),
        issuedAt: 7,
      },
    }
    expect(await take(lease)).toBe(true)
    expect(await take(lease)).toBe(false)
    expect(await drop(rival)).toBe(false)
    expect(await take(rival)).toBe(false)
    expect(await held(lease)).toEqual([lease])
    expect(await drop(lease)).toBe(true)
    expect(await held(lease)).toEqual([])
    expect(await take(rival)).toBe(true)
    expect(await held(lease)).toEqual([rival])
    expect(await move(rival.intentId, lease)).toBe(true)
    expect(await held(lease)).toEqual([lease])
    // Another order may take its place without a moment in which there is none.
    const next = { ...rival, leaseUntil: start + 70_000, isUnclear: true }
    expect(await move(rival.intentId, next)).toBe(false)
    expect(await held(lease)).toEqual([lease])
    expect(await move(lease.intentId, next)).toBe(true)
    expect(await held(lease)).toEqual([next])
    expect(await move(next.intentId, lease)).toBe(true)
    expect(await drop(rival)).toBe(false)
    expect(await take(rival)).toBe(false)
  })

  test('of two gateways that want it at once, one gets it', async () => {
    const { store, rival } = subject()
    for (let round = 0; round < 10; round++) {
      const lease = exampleRefreshLease()
      const taken = await Promise.all(
        [store, rival].map((one) =>
          one.transact((tx) => tx.oauth.takeLease({ ...lease, holder: newId('instance') })),
        ),
      )
      expect(taken.toSorted()).toEqual([false, true])
    }
  })

  test('that is over, or whose question is open, is nobody else’s before its order is asked', async () => {
    const { store } = subject()
    const past = (await store.transact((tx) => tx.now())) - 1
    for (const left of [{ leaseUntil: past }, { leaseUntil: 0, isUnclear: true }]) {
      const lease = exampleRefreshLease(left)
      const { credentialId } = lease
      const next = exampleRefreshLease({ credentialId, leaseUntil: past + 600_000 })
      expect(await take(lease)).toBe(true)
      expect(await take(next)).toBe(false)
      expect(await held(lease)).toEqual([lease])
      expect(await drop(lease)).toBe(true)
      expect(await take(next)).toBe(true)
    }
  })
}
