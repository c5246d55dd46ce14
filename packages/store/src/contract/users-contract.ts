import { expect, test } from 'vitest'
import { exampleToken, exampleUser, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

export function usersContract(subject: GetSubject): void {
  test('gives back a user by id and by name, and undefined for nobody', async () => {
    const { store } = subject()
    const user = exampleUser()
    expect(await store.transact((tx) => tx.users.insert(user))).toBe(true)
    expect(await store.users.get(user.id)).toEqual(user)
    expect(await store.users.byName(user.name)).toEqual(user)
    expect(await store.users.get(newId('user'))).toBeUndefined()
    expect(await store.users.byName('nobody')).toBeUndefined()
  })

  test('refuses a second user of one name', async () => {
    const { store } = subject()
    const user = exampleUser()
    await store.transact((tx) => tx.users.insert(user))
    const second = exampleUser({ name: user.name })
    expect(await store.transact((tx) => tx.users.insert(second))).toBe(false)
    expect(await store.users.list()).toEqual([user])
  })

  test('lets one of two that take a name at once have it', async () => {
    const { store, rival } = subject()
    const results = await Promise.all(
      [store, rival].map((each) =>
        each.transact((tx) => tx.users.insert(exampleUser({ name: 'ada' }))),
      ),
    )
    expect(results.toSorted()).toEqual([false, true])
  })

  test('disables a user once', async () => {
    const { store } = subject()
    const user = exampleUser()
    await store.transact((tx) => tx.users.insert(user))
    expect(await store.transact((tx) => tx.users.disable(user.id, start + 1))).toBe(true)
    expect(await store.transact((tx) => tx.users.disable(user.id, start + 2))).toBe(false)
    expect(await store.transact((tx) => tx.users.disable(newId('user'), start))).toBe(false)
    expect((await store.users.get(user.id))?.disabledAt).toBe(start + 1)
  })

  test('reads a user under a lock, and undefined for nobody', async () => {
    const { store } = subject()
    const user = exampleUser()
    await store.transact((tx) => tx.users.insert(user))
    expect(await store.transact((tx) => tx.users.lock(user.id))).toEqual(user)
    expect(await store.transact((tx) => tx.users.lock(newId('user')))).toBeUndefined()
  })
}

export function tokensContract(subject: GetSubject): void {
  test('gives back a token by id and by hash', async () => {
    const { store } = subject()
    const token = exampleToken({ label: null, expiresAt: null })
    await store.transact((tx) => tx.users.insertToken(token))
    expect(await store.users.token(token.id)).toEqual(token)
    expect(await store.users.tokenByHash(token.hash)).toEqual(token)
    expect(await store.users.tokenByHash('sha256:other')).toBeUndefined()
    expect(await store.users.token(newId('token'))).toBeUndefined()
  })

  test('never has two tokens with one hash', async () => {
    const { store } = subject()
    const token = exampleToken()
    await store.transact((tx) => tx.users.insertToken(token))
    const second = exampleToken({ hash: token.hash })
    await expect(store.transact((tx) => tx.users.insertToken(second))).rejects.toThrow(TypeError)
  })

  test('lists tokens newest first, of one user or of all', async () => {
    const { store } = subject()
    const [first, second, third] = [exampleToken(), exampleToken(), exampleToken()] as const
    const mine = { ...third, userId: first.userId }
    await store.transact(async (tx) => {
      for (const token of [second, mine, first]) await tx.users.insertToken(token)
    })
    expect(await store.users.tokens()).toEqual([mine, second, first])
    expect(await store.users.tokens(first.userId)).toEqual([mine, first])
    expect(await store.users.tokens(newId('user'))).toEqual([])
  })

  test('revokes a token once', async () => {
    const { store } = subject()
    const token = exampleToken()
    await store.transact((tx) => tx.users.insertToken(token))
    expect(await store.transact((tx) => tx.users.revokeToken(token.id, start + 1))).toBe(true)
    expect(await store.transact((tx) => tx.users.revokeToken(token.id, start + 2))).toBe(false)
    expect(await store.transact((tx) => tx.users.revokeToken(newId('token'), start))).toBe(false)
    expect((await store.users.token(token.id))?.revokedAt).toBe(start + 1)
  })

  test('revokes what is left of the tokens of one user', async () => {
    const { store } = subject()
    const earlier = exampleToken({ revokedAt: start })
    const standing = exampleToken({ userId: earlier.userId })
    const others = exampleToken()
    await store.transact(async (tx) => {
      for (const token of [earlier, standing, others]) await tx.users.insertToken(token)
      await tx.users.revokeTokensOf(earlier.userId, start + 5)
    })
    expect((await store.users.token(earlier.id))?.revokedAt).toBe(start)
    expect((await store.users.token(standing.id))?.revokedAt).toBe(start + 5)
    expect((await store.users.token(others.id))?.revokedAt).toBeNull()
  })
}
