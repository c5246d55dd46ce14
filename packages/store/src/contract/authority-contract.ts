import type { Authority, AuthorityRefs, Store } from '@sallyport/core'
import { expect, test } from 'vitest'
import {
  exampleCatalog,
  exampleConnection,
  exampleCredential,
  exampleExecution,
  exampleGrant,
  exampleProfile,
  exampleSession,
  newId,
  start,
} from './examples.ts'
import type { GetSubject } from './subject.ts'

/** One row of each kind, in the store. */
async function everyKind(store: Store) {
  const rows = {
    connection: exampleConnection(),
    credential: exampleCredential(),
    catalog: exampleCatalog({ state: 'published', number: 1 }),
    profile: exampleProfile(),
    grant: exampleGrant(),
    session: exampleSession(),
  }
  await store.transact(async (tx) => {
    await tx.connections.insert(rows.connection, 25)
    await tx.credentials.insert(rows.credential)
    await tx.catalogs.insert(rows.catalog, [])
    await tx.profiles.insert(rows.profile)
    await tx.grants.insert(rows.grant)
    await tx.sessions.insert(rows.session)
  })
  const refs: AuthorityRefs = {
    connections: [rows.connection.id],
    credentials: [rows.credential.id],
    catalogs: [rows.catalog.id],
    profiles: [rows.profile.id],
    grants: [rows.grant.id],
    sessions: [rows.session.id],
  }
  return { rows, refs }
}

export function authorityContract(subject: GetSubject): void {
  test('reads every kind of row that decides about a call', async () => {
    const { store } = subject()
    const { rows, refs } = await everyKind(store)
    const authority = await store.transact((tx) => tx.lockAuthority(refs))
    const { now, ...locked } = authority
    expect(Number.isSafeInteger(now)).toBe(true)
    expect(locked).toEqual({
      connections: new Map([[rows.connection.id, rows.connection]]),
      credentials: new Map([[rows.credential.id, rows.credential]]),
      catalogs: new Map([[rows.catalog.id, rows.catalog]]),
      profiles: new Map([[rows.profile.id, rows.profile]]),
      grants: new Map([[rows.grant.id, rows.grant]]),
      sessions: new Map([[rows.session.id, rows.session]]),
      pause: undefined,
      busy: new Set(),
    })
  })

  test('leaves out rows that do not exist', async () => {
    const { store } = subject()
    const { rows, refs } = await everyKind(store)
    const authority = await store.transact((tx) =>
      tx.lockAuthority({ ...refs, grants: [newId('grant'), rows.grant.id, newId('grant')] }),
    )
    expect([...authority.grants.keys()]).toEqual([rows.grant.id])
    expect(authority.busy).toEqual(new Set())
  })

  test('sees the pause', async () => {
    const { store } = subject()
    const { refs } = await everyKind(store)
    const pause = { name: 'pause', value: { writesOnly: true }, by: 'usr', at: start }
    const look = () => store.transact(async (tx) => (await tx.lockAuthority(refs)).pause)
    await store.transact(async (tx) => {
      await tx.lockForChange({ pause: true })
      await tx.settings.set(pause)
    })
    expect(await look()).toEqual(pause)
    await store.transact(async (tx) => {
      await tx.lockForChange({ pause: true })
      await tx.settings.unset('pause')
    })
    expect(await look()).toBeUndefined()
  })

  test('sees what its own transaction changed', async () => {
    const { store } = subject()
    const { rows, refs } = await everyKind(store)
    const authority = await store.transact(async (tx) => {
      await tx.grants.revoke(rows.grant.id, start + 1)
      return tx.lockAuthority(refs)
    })
    expect(authority.grants.get(rows.grant.id)?.revokedAt).toBe(start + 1)
  })
}

export function revocationContract(subject: GetSubject): void {
  test('lets no barrier pass once a revocation is acknowledged', async () => {
    const { store, rival } = subject()
    const { rows, refs } = await everyKind(store)
    const passes = ({ grants, busy }: Authority) =>
      !busy.has(rows.grant.id) && grants.get(rows.grant.id)?.revokedAt === null
    const barrier = (by: Store) =>
      by.transact(async (tx) => {
        if (!passes(await tx.lockAuthority(refs))) return false
        await tx.executions.insert([exampleExecution({ sessionId: rows.session.id })])
        return true
      })
    expect(await barrier(store)).toBe(true)
    const racing = Array.from({ length: 20 }, (_, i) => barrier(i % 2 ? store : rival))
    const revoked = rival.transact(async (tx) => {
      await tx.lockForChange({ grants: [rows.grant.id] })
      return tx.grants.revoke(rows.grant.id, start)
    })
    expect(await revoked).toBe(true)
    const passedBefore = await store.executions.list({ limit: 99 })
    const late = await Promise.all(Array.from({ length: 10 }, () => barrier(store)))
    expect(late).not.toContain(true)
    const passed = (await Promise.all(racing)).filter(Boolean).length
    expect(await store.executions.list({ limit: 99 })).toHaveLength(passed + 1)
    expect(passedBefore).toHaveLength(passed + 1)
  })

  test('counts the calls of a session exactly, whichever gateway they come by', async () => {
    const { store, rival } = subject()
    const { rows, refs } = await everyKind(store)
    const { id: sessionId } = rows.session
    const { id: grantId } = rows.grant
    const call = (by: Store) =>
      by.transact(async (tx) => {
        const { sessions } = await tx.lockAuthority(refs)
        const used = await tx.executions.countPassed(sessionId, grantId, start - 1)
        if (!sessions.has(sessionId) || used >= 3) return false
        await tx.executions.insert([exampleExecution({ sessionId, grantId })])
        return true
      })
    await Promise.all(Array.from({ length: 12 }, (_, i) => call(i % 2 ? store : rival)))
    const passed = await store.executions.list({ sessionId, limit: 99 })
    expect(passed).toHaveLength(3)
  })
}
