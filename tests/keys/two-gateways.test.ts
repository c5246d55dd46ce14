/** Two gateways on one Postgres, their workers on one key file: a rotation at one is carried by both, and no call fails. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { eventually } from '../system/eventually.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { addConnection, keyFiles, plant, rotated, startLoad, unreachable } from './key-world.ts'

let postgres: RunningPostgres
let folder: string
let keyFile: string
let upstream: Upstream
let first: Sallyport
let second: Sallyport
let planted: Awaited<ReturnType<typeof plant>>

const start = () =>
  startSallyport({
    args: [
      ...['--database', postgres.url, '--data-key-file', join(folder, 'data.key')],
      ...['--vault-key-file', keyFile],
    ],
  })

beforeAll(async () => {
  postgres = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'sallyport-two-keys-'))
  // In a folder of its own: among other files a worker only reads it.
  mkdirSync(join(folder, 'keys'), { mode: 0o700 })
  keyFile = join(folder, 'keys', 'vault.key')
  // Empty, as an operator may prepare it for both.
  writeFileSync(keyFile, '', { mode: 0o600 })
  upstream = await startUpstream()
  ;[first, second] = await Promise.all([start(), start()])
  planted = await plant(first, upstream, { count: 20, called: 10 })
  const value = 1_000_000
  await first.api('setting.set', { name: 'requestsPerMinutePerSession' }, { value })
}, 120_000)
afterAll(async () => {
  await Promise.all([first?.remove(), second?.remove()])
  await upstream?.close()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const kidAt = async ({ api }: Sallyport) => (await api('vault.show')).kid

test('both seal to the one key of the file, which is there', async () => {
  expect(readFileSync(keyFile, 'utf8')).toContain('PRIVATE KEY')
  expect(await kidAt(second)).toBe(await kidAt(first))
})

test('a rotation at one while guests call both: no call fails, and both go on with the new key', {
  timeout: 120_000,
}, async () => {
  const old = await kidAt(first)
  const session = await first.api('session.create', {}, { profile: 'p' })
  const at = [first, second].map(({ guestUrl }) => ({ guestUrl, token: session.token }))
  const names = planted.filter(({ isCalled }) => isCalled).map(({ name }) => name)
  const load = startLoad(at, names, 6)
  await eventually(load.calls, (calls) => calls > 60, 30_000)
  await first.api('keys.rotate')
  const kid = await kidAt(first)
  await rotated(first)
  await eventually(
    () => kidAt(second),
    (found) => found === kid,
    10_000,
  )
  expect(kid).not.toBe(old)
  const { items } = await second.api('keys.show')
  expect(items).toMatchObject([
    { id: kid, state: 'sealing' },
    { id: old, state: 'retired', seals: 0 },
  ])
  expect(Object.keys(keyFiles(keyFile))).toEqual(['vault.key', 'vault.key.retired'])
  await sleep(22_000)
  await load.stop()
  expect(load.failures).toEqual([])
  for (const each of [first, second]) expect(await unreachable(each, upstream, planted)).toEqual([])
})

test('a secret that is sealed at one to a key the other has not seen opens at the other at once', async () => {
  const { kid } = await first.api('vault.show')
  await first.api('keys.rotate')
  const next = await first.api('vault.show')
  expect(next.kid).not.toBe(kid)
  await addConnection(
    first,
    { name: 'fresh', token: 'fresh-0123456789', url: upstream.url, scope: 'project:x' },
    next,
  )
  expect(await second.api('connection.test', { name: 'fresh' })).toMatchObject({ state: 'ok' })
  expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer fresh-0123456789')
})

test('a worker that starts afterwards has the new key alone', async () => {
  await rotated(first)
  await second.restart()
  const { source, items } = await second.api('keys.show')
  expect(source).toBe('file')
  expect(items.filter(({ state }) => state === 'sealing')).toHaveLength(1)
  expect(await kidAt(second)).toBe(await kidAt(first))
  expect(await unreachable(second, upstream, planted)).toEqual([])
  expect(existsSync(keyFile)).toBe(true)
})
