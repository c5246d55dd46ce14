import type { Answer } from '@sallyport/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runWords, type Setting } from '../testing/run-words.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'

let api: ScriptedApi
beforeEach(async () => {
  api = await new ScriptedApi().listen()
})
afterEach(() => api.close())

const run = (words: readonly string[], setting: Partial<Setting> = {}) =>
  runWords(['keys', ...words], {
    env: { SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't' },
    ...setting,
  })

type Keys = Answer<'keys.show'>
type Key = Keys['items'][number]

const key = (id: string, state: Key['state'], given: Partial<Key> = {}): Key => ({
  id,
  state,
  fingerprint: `SHA256:${id}`,
  madeAt: '2026-11-30T12:00:00.000Z',
  retiredAt: null,
  seals: 0,
  ...given,
})
const keys = (rotation: Partial<Keys['rotation']>, ...items: Key[]): Keys => ({
  source: 'file',
  items,
  rotation: { state: 'done', left: 0, stuck: [], ...rotation },
})

test('show tells the fingerprint, the age of each key, and how much is sealed to it', async () => {
  const old = key('old', 'open', { madeAt: null, seals: 4 })
  api.answer(
    'keys.show',
    keys({ state: 'running', left: 4 }, key('new', 'sealing', { seals: 2 }), old),
  )
  const now = Date.parse('2026-12-02T12:00:00Z')
  const { stdout } = await run(['show'], { now })
  expect(stdout).toContain(`SHA256:${api.vault.kid}`)
  expect(stdout).toMatch(/^new +sealing +2 d +2 +2026-11-30T12:00:00Z +-$/m)
  expect(stdout).toMatch(/^old +open +- +4 +- +-$/m)
  expect(stdout).toContain('4 secrets left to seal again; it goes on by itself.')
})

test('rotate looks on until every secret is sealed again', async () => {
  const running = (left: number) =>
    keys({ state: 'running', left }, key('new', 'sealing'), key('old', 'open', { seals: left }))
  api.answer('keys.rotate', running(9))
  api.answer('keys.show', running(4))
  let looks = 0
  const delay = async (): Promise<void> => {
    if (++looks === 3) api.answer('keys.show', keys({}, key('new', 'sealing', { seals: 9 })))
  }
  const { code, stdout, stderr } = await run(['rotate'], { terminal: true, world: { delay } })
  expect(code).toBe(0)
  expect(looks).toBe(3)
  expect(stderr).toContain('Sealing again: 9 secrets left')
  expect(stdout).toContain('Every secret is sealed to the newest key.')
  expect(api.requests.map(({ route }) => route)).toEqual([
    'keys.rotate',
    ...Array(3).fill('keys.show'),
  ])
})

test('rotate --no-wait prints what there is at once', async () => {
  api.answer('keys.rotate', keys({ state: 'running', left: 9 }, key('new', 'sealing')))
  const { code, stdout, stderr } = await run(['rotate', '--no-wait', '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject({ rotation: { state: 'running', left: 9 } })
  api.only('keys.rotate')
  expect(api.requests).toHaveLength(1)
})

test('what cannot be sealed again is listed, and is a failure', async () => {
  const stuck = [{ kind: 'credential', id: 'crd_1', name: 'wiki\x1b', code: 'seal_unreadable' }]
  const old = key('old', 'open', { seals: 1 })
  api.answer('keys.rotate', keys({ state: 'stuck', left: 1, stuck }, key('new', 'sealing'), old))
  const { code, stdout, stderr } = await run(['rotate'])
  expect(code).toBe(1)
  expect(stderr).toMatch(/^seal_unreadable: .* Enter the secrets that are listed again/)
  expect(stdout).toMatch(/^credential +wiki\\u\{1b\} +seal_unreadable$/m)
  expect(stdout).toContain('1 secret cannot be sealed again; the old key is kept for them.')
})

test('a key that cannot be written where it comes from is told with what to do', async () => {
  api.refuse('keys.rotate', 'vault_key_fixed')
  const { code, stderr } = await run(['rotate'])
  expect(code).toBe(1)
  expect(stderr).toMatch(/^vault_key_fixed: .*who can act: operator/)
})
