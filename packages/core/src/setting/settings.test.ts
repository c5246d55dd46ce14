import { expect, test } from 'vitest'
import { code, newWorld } from '../../../../tests/authority/world.ts'
import { pauseCalls, resumeCalls } from './pause.ts'
import { setSetting, unsetSetting } from './set-setting.ts'
import { loadSettings } from './settings.ts'

const world = async () => newWorld()

test('has these settings with these defaults', async () => {
  const { store } = await world()
  expect((await loadSettings(store)).current()).toEqual({
    guestBodyLimitBytes: 4_194_304,
    maxCallsPerSession: 64,
    requestsPerMinutePerSession: 6000,
  })
})

test('a change counts when it was read again, and back to the default too', async () => {
  const { deps, store, admin } = await world()
  const settings = await loadSettings(store)
  await setSetting(deps, admin, 'maxCallsPerSession', 8)
  expect(settings.current().maxCallsPerSession).toBe(64)
  await settings.refresh()
  expect(settings.current().maxCallsPerSession).toBe(8)
  await unsetSetting(deps, admin, 'maxCallsPerSession')
  await settings.refresh()
  expect(settings.current().maxCallsPerSession).toBe(64)
})

test('refuses unknown names, values out of bounds, and members', async () => {
  const { deps, admin, alice } = await world()
  for (const name of ['other', 'pause', 'toString'])
    await expect(setSetting(deps, admin, name, 8)).rejects.toMatchObject(code('not_found', 'name'))
  for (const value of [0, 1025, 1.5, '8', null, Number.NaN])
    await expect(setSetting(deps, admin, 'maxCallsPerSession', value)).rejects.toMatchObject(
      code('bad_request', 'value'),
    )
  await expect(setSetting(deps, alice, 'maxCallsPerSession', 8)).rejects.toMatchObject(
    code('not_allowed'),
  )
  await expect(unsetSetting(deps, alice, 'maxCallsPerSession')).rejects.toMatchObject(
    code('not_allowed'),
  )
})

test('a stored value that today is out of bounds counts as not set', async () => {
  const { store } = await world()
  await store.transact((tx) =>
    tx.settings.set({ name: 'maxCallsPerSession', value: 'many', by: 'x', at: 1 }),
  )
  expect((await loadSettings(store)).current().maxCallsPerSession).toBe(64)
})

test('an administrator pauses and resumes; members do not', async () => {
  const { deps, store, admin, alice } = await world()
  const pause = { writesOnly: true, note: 'incident' }
  await expect(pauseCalls(deps, alice, pause)).rejects.toMatchObject(code('not_allowed'))
  await pauseCalls(deps, admin, pause)
  expect(await store.settings.get('pause')).toMatchObject({ value: pause, by: admin.userId })
  await expect(resumeCalls(deps, alice)).rejects.toMatchObject(code('not_allowed'))
  await resumeCalls(deps, admin)
  expect(await store.settings.get('pause')).toBeUndefined()
  await resumeCalls(deps, admin)
})
