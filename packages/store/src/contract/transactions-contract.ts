import type { Tx } from '@sallyport/core'
import { expect, test } from 'vitest'
import {
  exampleConnection,
  exampleExecution,
  exampleToken,
  exampleUser,
  start,
} from './examples.ts'
import type { GetSubject } from './subject.ts'

export function transactionsContract(subject: GetSubject): void {
  test('leaves nothing of a transaction that throws, and passes on what was thrown', async () => {
    const { store } = subject()
    const [user, row] = [exampleUser(), exampleExecution()]
    const thrown = new Error('changed my mind')
    const work = store.transact(async (tx) => {
      await tx.users.insert(user)
      await tx.executions.insert([row])
      expect(await tx.users.get(user.id)).toEqual(user)
      throw thrown
    })
    await expect(work).rejects.toBe(thrown)
    expect(await store.users.get(user.id)).toBeUndefined()
    expect(await store.executions.get(row.id)).toBeUndefined()
    expect(await store.transact((tx) => tx.users.insert(user))).toBe(true)
  })

  test('shows a transaction its own rows, and nobody else before it is committed', async () => {
    const { store, rival } = subject()
    const user = exampleUser()
    const seen = await store.transact(async (tx) => {
      await tx.users.insert(user)
      return [await tx.users.list(), await store.users.list(), await rival.users.list()]
    })
    expect(seen).toEqual([[user], [], []])
    expect(await rival.users.list()).toEqual([user])
  })

  test('runs transactions that come at once so that none undoes the other', async () => {
    const { store, rival } = subject()
    const connection = exampleConnection()
    await store.transact((tx) => tx.connections.insert(connection, 25))
    const raise = async (tx: Tx) => {
      await tx.lockForChange({ connections: [connection.id] })
      const now = await tx.connections.get(connection.id)
      if (!now) throw new Error('it was there')
      return tx.connections.update({ ...now, version: now.version + 1 }, now.version)
    }
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? store : rival).transact(raise)),
    )
    expect(new Set(results)).toEqual(new Set(['updated']))
    expect((await store.connections.get(connection.id))?.version).toBe(21)
  })
}

export function failuresContract(subject: GetSubject): void {
  test('does not commit when a statement failed and the work went on', async () => {
    const { store } = subject()
    const token = exampleToken()
    const user = exampleUser()
    const work = store.transact(async (tx) => {
      await tx.users.insert(user)
      await tx.users.insertToken(token)
      await tx.users.insertToken({ ...exampleToken(), hash: token.hash }).catch(() => {})
    })
    await expect(work).rejects.toThrow(TypeError)
    expect(await store.users.get(user.id)).toBeUndefined()
    expect(await store.users.token(token.id)).toBeUndefined()
  })

  test('does not let a transaction be used after its end', async () => {
    const { store } = subject()
    let leaked: Tx | undefined
    await store.transact(async (tx) => {
      leaked = tx
    })
    await expect(leaked?.users.insert(exampleUser())).rejects.toThrow(TypeError)
    await expect(leaked?.users.list()).rejects.toThrow(TypeError)
    expect(await store.users.list()).toEqual([])
  })

  test('never has two rows with one id', async () => {
    const { store } = subject()
    const user = exampleUser()
    await store.transact((tx) => tx.users.insert(user))
    const second = exampleUser({ id: user.id })
    await expect(store.transact((tx) => tx.users.insert(second))).rejects.toThrow(TypeError)
    expect(await store.users.list()).toEqual([user])
  })
}

export function timeContract(subject: GetSubject): void {
  test('has one time all through a transaction', async () => {
    const { store, setClock } = subject()
    setClock?.(start + 5)
    const times = await store.transact(async (tx) => {
      const first = await tx.now()
      setClock?.(start + 6)
      const authority = await tx.lockAuthority(nothing)
      return [first, await tx.now(), authority.now]
    })
    expect(new Set(times).size).toBe(1)
    expect(Number.isSafeInteger(times[0])).toBe(true)
    if (setClock) expect(times[0]).toBe(start + 5)
    const later = await store.transact((tx) => tx.now())
    expect(later).toBeGreaterThanOrEqual(times[0] as number)
  })
}

const nothing = {
  connections: [],
  credentials: [],
  catalogs: [],
  profiles: [],
  grants: [],
  sessions: [],
}

export function endContract(subject: GetSubject): void {
  test('confirms with and without waiting for the flush', async () => {
    const { store } = subject()
    const [first, second] = [exampleUser(), exampleUser()]
    await store.transact((tx) => tx.users.insert(first), { flush: 'later' })
    expect(await store.users.get(first.id)).toEqual(first)
    await store.transact((tx) => tx.users.insert(second), { flush: 'wait' })
    expect(await store.users.list()).toHaveLength(2)
  })

  test('answers a ping until it is closed', async () => {
    const { store } = subject()
    await expect(store.ping()).resolves.toBeUndefined()
    await store.close()
    await expect(store.ping()).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('finishes what runs before it closes, and refuses what comes later', async () => {
    const { store } = subject()
    const user = exampleUser()
    let wasClosed = false
    const running = store.transact(async (tx) => {
      await tx.users.insert(user)
      expect(wasClosed).toBe(false)
      return tx.users.get(user.id)
    })
    const closed = store.close().then(() => {
      wasClosed = true
    })
    expect(await running).toEqual(user)
    await closed
    const refusal = { code: 'store_unavailable' }
    await expect(store.transact((tx) => tx.users.list())).rejects.toMatchObject(refusal)
    await expect(store.users.list()).rejects.toMatchObject(refusal)
    await expect(store.close()).resolves.toBeUndefined()
  })
}
