/** A backup from before a rotation, restored after it: what it holds is sealed to a key that is gone, and says so. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { eventually } from '../system/eventually.ts'
import { RawGuest } from '../system/raw-guest.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { addWebhook, keyFiles, plant, rotated, unreachable, vaultKeyFile } from './key-world.ts'

let backup: string
let sallyport: Sallyport
let upstream: Upstream
let session: OpenSession
let old: string
let webhook: string
let planted: Awaited<ReturnType<typeof plant>>

beforeAll(async () => {
  backup = mkdtempSync(join(tmpdir(), 'sallyport-backup-'))
  sallyport = await startSallyport()
  upstream = await startUpstream()
  planted = await plant(sallyport, upstream, { count: 3, called: 2 })
  webhook = await addWebhook(sallyport, 'pager', upstream.url)
  old = (await sallyport.api('vault.show')).kid
  await sallyport.stop()
  copyDatabase(sallyport.dataDir, backup)
  await sallyport.restart()
  await sallyport.api('keys.rotate')
  await rotated(sallyport)
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
  rmSync(backup, { recursive: true, force: true })
})

/** Of a Sallyport that is stopped. */
function copyDatabase(from: string, to: string): void {
  for (const name of readdirSync(to)) if (name.startsWith('sallyport.db')) rmSync(join(to, name))
  for (const name of readdirSync(from))
    if (name.startsWith('sallyport.db')) cpSync(join(from, name), join(to, name))
}

test('before it is restored, every secret opens', async () => {
  expect(await unreachable(sallyport, upstream, planted)).toEqual([])
})

test('restored, its keys are told as gone, before anybody calls', async () => {
  await sallyport.stop()
  copyDatabase(backup, sallyport.dataDir)
  await sallyport.restart({ args: ['--restored'] })
  const { api } = sallyport
  const { items, rotation } = await api('keys.show')
  expect(items).toMatchObject([
    { state: 'sealing', seals: 0 },
    { id: old, state: 'retired', seals: 7 },
  ])
  expect(rotation.state).toBe('done')
  const seen = await eventually(
    async () => (await api('connection.list')).items,
    (all) => all.every(({ health }) => health.state === 'seal'),
  )
  expect(seen.map(({ health }) => health.code)).toEqual(Array(3).fill('seal_key_retired'))
  const checks = (await api('doctor.run')).items
  expect(checks.find(({ id }) => id === 'vault-keys')).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('7 secrets'),
  })
})

test('calls, tests and webhooks are refused with the code of their own, and nothing reaches a server', async () => {
  const { api } = sallyport
  const before = upstream.requests.length
  session = await api('session.create', {}, { profile: 'p' })
  const { token } = session
  const guest = new RawGuest({ endpoint: `${sallyport.guestUrl}/mcp/c0`, token, era: 'modern' })
  expect(await guest.call('counter_read')).toMatchObject({
    isError: true,
    failure: { code: 'seal_key_retired' },
  })
  expect(await api('connection.test', { name: 'c1' })).toMatchObject({
    state: 'failed',
    code: 'seal_key_retired',
  })
  expect(await api('webhook.test', { id: webhook })).toMatchObject({
    lastFailure: { code: 'seal_key_retired' },
  })
  expect(upstream.requests.length).toBe(before)
})

test('with a key file that is lost a new key is made, and what it opened is told as missing', async () => {
  const { api } = sallyport
  const { kid } = await api('vault.show')
  await sallyport.stop()
  for (const name of Object.keys(keyFiles(vaultKeyFile(sallyport))))
    rmSync(join(sallyport.dataDir, 'worker', name))
  copyDatabase(backup, sallyport.dataDir)
  await sallyport.restart({ args: ['--restored'] })
  const { items } = await api('keys.show')
  expect(items).toMatchObject([
    { state: 'sealing', seals: 0 },
    { id: old, state: 'missing', seals: 7 },
  ])
  expect(items[0]?.id).not.toBe(kid)
  expect(await api('connection.test', { name: 'c1' })).toMatchObject({ code: 'seal_key_unknown' })
  const checks = (await api('doctor.run')).items
  expect(checks.find(({ id }) => id === 'vault-keys')).toMatchObject({
    state: 'problem',
    who: 'operator',
  })
})

test('entered again, a secret is sealed to the present key, and the call is done', async () => {
  const { api } = sallyport
  const body = { url: upstream.url, secret: { token: 'again-0123456789' }, allowPlaintext: true }
  await api('connection.edit', { name: 'c0' }, body as never)
  expect(await api('connection.test', { name: 'c0' })).toMatchObject({ state: 'ok' })
  expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer again-0123456789')
})
