/**
 * Whoever has the database file, the gateway's memory and its signing key has no secret that was typed into the command
 * line, and no URL; whoever has the worker's key and nothing else neither.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newWebhookSecret } from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type Ended, runCommand } from '../system/commands.ts'
import { eventually } from '../system/eventually.ts'
import { Evidence, formsOf } from '../system/evidence.ts'
import { serve } from '../system/failing-servers.ts'
import { RawGuest } from '../system/raw-guest.ts'
import { createSentinels } from '../system/sentinels.ts'
import type { Upstream } from '../upstreams/scripted-upstream.ts'
import { WebhookReceiver } from '../upstreams/webhook-receiver.ts'
import { keyFiles, rotated, vaultKeyFile } from './key-world.ts'
import { searchMemory } from './process-memory.ts'

const has = createSentinels()
/** A name, which is no secret: whatever looks for it must find it. */
const planted = `planted-${randomBytes(8).toString('hex')}`
const hook = { path: `Wh${randomBytes(16).toString('hex')}`, secret: newWebhookSecret() }
const secrets = {
  bearer: has.bearer,
  header: has.header,
  path: has.path,
  query: has.query,
  webhookPath: hook.path,
  webhookSecret: hook.secret.slice('whsec_'.length),
}

let folder: string
let sallyport: Sallyport
let upstream: Upstream
let receiver: WebhookReceiver
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-memory-'))
  for (const name of ['home', 'given', 'dumps']) mkdirSync(join(folder, name))
  upstream = await serve('bearer', has, 'modern')
  receiver = await WebhookReceiver.start({ secret: hook.secret, path: `/${hook.path}` })
  const NODE_OPTIONS = `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${join(folder, 'dumps')}`
  sallyport = await startSallyport({ env: { NODE_OPTIONS } })
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
  await receiver?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function run(words: readonly string[], stdin = ''): Promise<Ended> {
  const { dataDir } = sallyport
  const ended = await runCommand(words, { dataDir, home: join(folder, 'home'), stdin })
  expect(ended, words.join(' ')).toMatchObject({ code: 0 })
  return ended
}

let given = 0
function fileOf(secret: string): string {
  const path = join(folder, 'given', String(++given))
  writeFileSync(path, secret)
  return path
}

let call: () => Promise<unknown>

test('secrets of every kind are typed, used, and sealed again', { timeout: 120_000 }, async () => {
  const secret = ['--bearer-file', fileOf(has.bearer)]
  const header = ['--header-file', `X-Api-Key=${fileOf(has.header)}`]
  await run(['connection', 'add', planted, '-', ...secret, ...header], upstream.url)
  for (const words of [
    ['catalog', 'discover', planted],
    ['catalog', 'review', planted, '--include', '*', '--read', '*'],
    ['catalog', 'publish', planted],
    ['connection', 'enable', planted],
    ['profile', 'create', 'p'],
    ['profile', 'grant', 'p', planted, 'counter_read', '--mode', 'read'],
    ['webhook', 'add', 'pager', receiver.url, '--secret-file', fileOf(hook.secret)],
    ['webhook', 'test', 'pager'],
  ])
    await run(words)
  const session = await sallyport.api('session.create', {}, { profile: 'p' })
  const endpoint = `${session.endpoint}/${planted}`
  const guest = new RawGuest({ endpoint, token: session.token, era: 'modern' })
  call = () => guest.call('counter_read')
  expect(await call()).toMatchObject({ isError: false })
  await run(['keys', 'rotate'])
  await rotated(sallyport)
  await run(['connection', 'test', planted])
  expect(await call()).toMatchObject({ isError: false })
  expect(upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${has.bearer}`)
  expect(receiver.received).toMatchObject([{ problem: undefined }])
})

const needlesOf = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const forms = [...new Set(formsOf(value))]
      return [name, [...forms.map((form) => Buffer.from(form)), Buffer.from(value, 'utf16le')]]
    }),
  )

/** The key itself, as text and as the bytes of the curve. */
function vaultKeyNeedles(): Record<string, readonly Buffer[]> {
  const text = keyFiles(vaultKeyFile(sallyport))['vault.key'] ?? ''
  const [, body = ''] = /KEY-----\n([A-Za-z0-9+/=]+)\n/.exec(text) ?? []
  const der = Buffer.from(body, 'base64')
  expect(der).toHaveLength(48)
  return { vaultKey: [Buffer.from(body), der.subarray(-32)] }
}

test('the memory of the gateway holds none of them, nor the key that opens them', {
  timeout: 300_000,
}, async () => {
  const needles = { ...needlesOf({ ...secrets, planted }), ...vaultKeyNeedles() }
  const { found, bytes } = searchMemory(sallyport.pid, needles)
  expect(found).toEqual(['planted'])
  expect(bytes).toBeGreaterThan(20 * 1024 * 1024)
})

test('the control: the memory of the worker holds what it opened a moment ago, and the key', {
  timeout: 300_000,
}, async () => {
  await call()
  const needles = { ...needlesOf({ bearer: has.bearer, path: has.path }), ...vaultKeyNeedles() }
  const { found } = searchMemory(sallyport.workerPid() as number, needles)
  expect(found.toSorted()).toEqual(['bearer', 'path', 'vaultKey'])
})

/** Written by Node when it is told to. */
async function heapSnapshot(): Promise<Buffer> {
  const dumps = join(folder, 'dumps')
  process.kill(sallyport.pid, 'SIGUSR2')
  const isWhole = (bytes: Buffer | undefined) => bytes?.at(-1) === '}'.charCodeAt(0)
  const read = async () => {
    const [name] = readdirSync(dumps)
    return name === undefined ? undefined : readFileSync(join(dumps, name))
  }
  return (await eventually(read, isWhole, 60_000)) as Buffer
}

test('neither a heap snapshot, the database nor anything of the gateway’s folder holds one', {
  timeout: 120_000,
}, async () => {
  const { dataDir } = sallyport
  const heap = new Evidence()
  heap.add('file', 'heap snapshot', await heapSnapshot())
  expect(await sallyport.stop()).toBe(0)
  const database = new Evidence()
  database.addDatabase(join(dataDir, 'sallyport.db'))
  const gateway = new Evidence()
  gateway.addFolder(join(dataDir, 'gateway'))
  for (const name of readdirSync(dataDir))
    if (name.startsWith('sallyport.db'))
      gateway.add('file', name, readFileSync(join(dataDir, name)))
  for (const [name, evidence] of Object.entries({ heap, database, gateway })) {
    expect(evidence.find(secrets), name).toEqual([])
    expect(evidence.find({ planted }).length, name).toBeGreaterThan(0)
  }
  const [, key = ''] =
    /KEY-----\n([A-Za-z0-9+/=]+)\n/.exec(keyFiles(vaultKeyFile(sallyport))['vault.key'] ?? '') ?? []
  for (const evidence of [heap, database, gateway]) expect(evidence.find({ key })).toEqual([])
})

test('what the worker keeps holds none of them either: its key opens what is not there', () => {
  const worker = new Evidence()
  worker.addFolder(join(sallyport.dataDir, 'worker'))
  expect(worker.find(secrets)).toEqual([])
  const [, key = ''] =
    /KEY-----\n([A-Za-z0-9+/=]+)\n/.exec(keyFiles(vaultKeyFile(sallyport))['vault.key'] ?? '') ?? []
  expect(worker.find({ key }).length).toBeGreaterThan(0)
  expect(JSON.stringify(worker.find({ key }))).toContain('vault.key')
  const seals = new Evidence()
  seals.addFolder(join(sallyport.dataDir, 'worker'))
  expect(seals.find({ seal: 'eyJhbGciOiJFQ0RILUVTIi' })).toEqual([])
})
