import { expect, test } from 'vitest'
import { exampleGrant, exampleProfile, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

export function profilesContract(subject: GetSubject): void {
  test('gives back a profile by id and by name, and lists by name', async () => {
    const { store } = subject()
    const [b, a] = [exampleProfile({ name: 'b' }), exampleProfile({ name: 'a' })]
    for (const profile of [b, a])
      expect(await store.transact((tx) => tx.profiles.insert(profile))).toBe(true)
    expect(await store.profiles.get(b.id)).toEqual(b)
    expect(await store.profiles.byName('a')).toEqual(a)
    expect(await store.profiles.byName('A')).toBeUndefined()
    expect(await store.profiles.get(newId('profile'))).toBeUndefined()
    expect(await store.profiles.list()).toEqual([a, b])
  })

  test('refuses a second profile of one name', async () => {
    const { store, rival } = subject()
    const results = await Promise.all(
      [store, rival].map((each) =>
        each.transact((tx) => tx.profiles.insert(exampleProfile({ name: 'dev' }))),
      ),
    )
    expect(results.toSorted()).toEqual([false, true])
  })
}

export function grantsContract(subject: GetSubject): void {
  test('gives back a grant, and the standing ones of a profile by connection, then tool', async () => {
    const { store } = subject()
    const first = exampleGrant({ tool: 'b' })
    const sameConnection = exampleGrant({ ...first, id: newId('grant'), tool: 'a' })
    const later = exampleGrant({ profileId: first.profileId, tool: '0' })
    const revoked = exampleGrant({ profileId: first.profileId, revokedAt: start })
    await store.transact(async (tx) => {
      for (const grant of [later, first, revoked, sameConnection, exampleGrant()])
        expect(await tx.grants.insert(grant)).toBe(true)
    })
    expect(await store.grants.get(first.id)).toEqual(first)
    expect(await store.grants.get(newId('grant'))).toBeUndefined()
    expect(await store.grants.ofProfile(first.profileId)).toEqual([sameConnection, first, later])
    expect(await store.grants.ofProfile(newId('profile'))).toEqual([])
  })

  test('has one standing grant for a profile, connection and tool', async () => {
    const { store } = subject()
    const grant = exampleGrant()
    const again = { ...grant, id: newId('grant') }
    await store.transact((tx) => tx.grants.insert(grant))
    expect(await store.transact((tx) => tx.grants.insert(again))).toBe(false)
    await store.transact(async (tx) => {
      expect(await tx.grants.revoke(grant.id, start)).toBe(true)
      expect(await tx.grants.insert(again)).toBe(true)
    })
    expect(await store.grants.ofProfile(grant.profileId)).toEqual([again])
  })

  test('lets one of two grants that are made at once stand', async () => {
    const { store, rival } = subject()
    const grant = exampleGrant()
    const results = await Promise.all(
      [store, rival].map((each) =>
        each.transact((tx) => tx.grants.insert({ ...grant, id: newId('grant') })),
      ),
    )
    expect(results.toSorted()).toEqual([false, true])
  })

  test('revokes a grant once', async () => {
    const { store } = subject()
    const grant = exampleGrant()
    await store.transact((tx) => tx.grants.insert(grant))
    expect(await store.transact((tx) => tx.grants.revoke(grant.id, start + 1))).toBe(true)
    expect(await store.transact((tx) => tx.grants.revoke(grant.id, start + 2))).toBe(false)
    expect(await store.transact((tx) => tx.grants.revoke(newId('grant'), start))).toBe(false)
    expect((await store.grants.get(grant.id))?.revokedAt).toBe(start + 1)
  })
}
