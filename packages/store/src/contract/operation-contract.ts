import { expect, test } from 'vitest'
import { exampleInstance, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

export function instancesContract(subject: GetSubject): void {
  test('starts, extends and ends the lease of an instance', async () => {
    const { store } = subject()
    const [first, second] = [exampleInstance(), exampleInstance()]
    const renewed = { ...first, leaseUntil: start + 20_000 }
    await store.transact(async (tx) => {
      await tx.instances.renew(second)
      await tx.instances.renew(first)
      await tx.instances.renew({ ...renewed, startedAt: start + 5 })
    })
    expect(await store.instances.list()).toEqual([renewed, second])
    await store.transact(async (tx) => {
      await tx.instances.end(first.id)
      await tx.instances.end(newId('instance'))
    })
    expect(await store.instances.list()).toEqual([second])
  })
}

export function settingsContract(subject: GetSubject): void {
  test('sets, replaces and unsets a setting', async () => {
    const { store } = subject()
    const setting = { name: 'verifyWithin', value: 0, by: newId('user'), at: start }
    const later = { ...setting, value: { seconds: null }, at: start + 1 }
    await store.transact((tx) => tx.settings.set(setting))
    expect(await store.settings.get('verifyWithin')).toEqual(setting)
    await store.transact((tx) => tx.settings.set(later))
    expect(await store.settings.get('verifyWithin')).toEqual(later)
    expect(await store.transact((tx) => tx.settings.unset('verifyWithin'))).toBe(true)
    expect(await store.transact((tx) => tx.settings.unset('verifyWithin'))).toBe(false)
    expect(await store.settings.get('verifyWithin')).toBeUndefined()
  })

  test('lists what is set, by name', async () => {
    const { store } = subject()
    expect(await store.settings.list()).toEqual([])
    expect(await store.settings.get('pause')).toBeUndefined()
    const setting = (name: string, value: unknown) => ({ name, value, by: 'system', at: start })
    const inOrder = [setting('Z', null), setting('a', false), setting('pause', { note: 'x' })]
    await store.transact(async (tx) => {
      for (const each of inOrder.toReversed()) await tx.settings.set(each)
    })
    expect(await store.settings.list()).toEqual(inOrder)
  })
}
