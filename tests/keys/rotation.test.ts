/** A vault key is rotated while guests call: nothing stops, nothing fails, and no old key is left anywhere. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { newWebhookSecret } from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { runCommand } from '../system/commands.ts'
import { eventually } from '../system/eventually.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { WebhookReceiver } from '../upstreams/webhook-receiver.ts'
import {
  addConnection,
  addWebhook,
  keyFiles,
  type Planted,
  plant,
  rotated,
  sealsInDatabase,
  startLoad,
  unreachable,
  vaultKeyFile,
} from './key-world.ts'

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const count = isThorough ? 500 : 60
const called = 20
/** What was signed before a key was retired may be on its way for as long. */
const onItsWayMs = 20_000

let home: string
let sallyport: Sallyport
let upstream: Upstream
let planted: readonly Planted[]
let session: OpenSession
let webhook: string
let receiver: WebhookReceiver

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-keys-'))
  sallyport = await startSallyport()
  upstream = await startUpstream()
  receiver = await WebhookReceiver.start({ secret: newWebhookSecret() })
  planted = await plant(sallyport, upstream, { count, called })
  webhook = await addWebhook(sallyport, 'pager', receiver.url)
  await addConnection(sallyport, {
    name: 'gone',
    token: 'x',
    url: upstream.url,
    scope: 'project:gone',
  })
  await sallyport.api('connection.remove', { name: 'gone' })
  await sallyport.api('connection.disable', { name: 'c19' })
  const value = 1_000_000
  await sallyport.api('setting.set', { name: 'requestsPerMinutePerSession' }, { value })
  session = await sallyport.api('session.create', {}, { profile: 'p' })
}, 600_000)
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
  await receiver?.close()
  rmSync(home, { recursive: true, force: true })
})

const kidNow = async () => (await sallyport.api('vault.show')).kid
/** An endpoint and a credential each, and the webhook. */
const seals = 2 * count + 1
const load = () => {
  const { guestUrl } = sallyport
  const names = planted.slice(0, called - 1).map(({ name }) => name)
  return startLoad([{ guestUrl, token: session.token }], names)
}

test(`${count} credentials are sealed again while guests call, and no call fails`, {
  timeout: 600_000,
}, async () => {
  const old = await sallyport.api('vault.show')
  const [text = ''] = Object.values(keyFiles(vaultKeyFile(sallyport)))
  expect(sealsInDatabase(sallyport)).toEqual({ [old.kid]: seals })
  expect(await unreachable(sallyport, upstream, planted)).toEqual([])
  const running = load()
  await eventually(running.calls, (calls) => calls > 100, 30_000)
  const { code, stdout } = await runCommand(['keys', 'rotate', '--json'], {
    dataDir: sallyport.dataDir,
    home,
  })
  expect(code).toBe(0)
  const kid = await kidNow()
  expect(JSON.parse(stdout)).toMatchObject({
    source: 'file',
    items: [
      { id: kid, state: 'sealing', seals },
      { id: old.kid, state: 'retired', seals: 0 },
    ],
    rotation: { state: 'done', left: 0, stuck: [] },
  })
  expect(sealsInDatabase(sallyport)).toEqual({ [kid]: seals })
  const files = keyFiles(vaultKeyFile(sallyport))
  expect(Object.keys(files)).toEqual(['vault.key', 'vault.key.retired'])
  const body = text.split('\n')[2] as string
  expect(body.length).toBeGreaterThan(40)
  for (const kept of Object.values(files)) expect(kept).not.toContain(body)
  const calls = running.calls()
  await sleep(onItsWayMs + 2_000)
  await running.stop()
  expect(running.calls()).toBeGreaterThan(calls)
  expect(running.failures).toEqual([])
  expect(await unreachable(sallyport, upstream, planted)).toEqual([])
  expect(await sallyport.api('webhook.test', { id: webhook })).toMatchObject({ lastFailure: null })
})

test('what is sealed to the retired key is refused where it comes in, and to the new one taken', async () => {
  const { kid, jwk } = await sallyport.api('vault.show')
  const { items } = await sallyport.api('keys.show')
  const retired = items.find(({ state }) => state === 'retired')?.id as string
  const late = { name: 'late', token: 'late-0123456789', url: upstream.url, scope: 'project:late' }
  await expect(addConnection(sallyport, late, { kid: retired, jwk })).rejects.toMatchObject({
    code: 'seal_key_retired',
  })
  await addConnection(sallyport, late, { kid, jwk })
  await sallyport.api('connection.remove', { name: 'late' })
})

test('a restart, and a second rotation, find everything as it was left', async () => {
  const before = await kidNow()
  await sallyport.restart()
  expect(await kidNow()).toBe(before)
  await sallyport.api('keys.rotate')
  await rotated(sallyport)
  const kid = await kidNow()
  expect(kid).not.toBe(before)
  expect(sealsInDatabase(sallyport)).toEqual({ [kid]: seals })
  expect(await unreachable(sallyport, upstream, planted.slice(0, 30))).toEqual([])
})

const crashes: readonly [what: string, kill: () => Promise<void>][] = [
  ['gateway', () => sallyport.kill()],
  ['worker', async () => void process.kill(sallyport.workerPid() as number, 'SIGKILL')],
  [
    'gateway and worker',
    async () => {
      const worker = sallyport.workerPid() as number
      await sallyport.kill()
      process.kill(worker, 'SIGKILL')
    },
  ],
]

test.each(crashes)(
  'a crash of the %s in the middle of it: it goes on, and nothing is lost',
  {
    timeout: 120_000,
  },
  async (what, kill) => {
    const old = await kidNow()
    const kid = (await sallyport.api('keys.rotate')).items[0]?.id as string
    // As soon as there is one, without a rest: a pass is short.
    const until = performance.now() + 10_000
    const isBegun = () => sealsInDatabase(sallyport, 'connections')[kid] !== undefined
    while (!isBegun() && performance.now() < until) await setImmediate()
    await kill()
    const found = sealsInDatabase(sallyport)
    expect(found[kid], what).toBeGreaterThan(0)
    expect((found[kid] ?? 0) + (found[old] ?? 0)).toBe(seals)
    if (what !== 'worker') {
      expect(found[old]).toBeGreaterThan(0)
      await sallyport.restart()
    }
    await rotated(sallyport)
    expect(sealsInDatabase(sallyport)).toEqual({ [kid]: seals })
    expect(Object.keys(keyFiles(vaultKeyFile(sallyport)))).toEqual([
      'vault.key',
      'vault.key.retired',
    ])
    expect(await unreachable(sallyport, upstream, planted.slice(0, 30))).toEqual([])
  },
)
