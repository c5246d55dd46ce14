/** The worker as its own process: how it starts, what it shows, how it ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startUpstream, type Upstream } from '../../../tests/upstreams/scripted-upstream.ts'
import { ScriptedGateway, sealForTest } from './testing/scripted-gateway.ts'
import { authority, identity } from './testing/worker-under-test.ts'
import { makeKey, readKeyText, writeKeyText } from './vault/key-text.ts'

const main = join(import.meta.dirname, 'main.ts')
const token = 'SENTINEL-token-0123456789'

let folder: string
const children: ChildProcess[] = []
const upstreams: Upstream[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-process-'))
  const { certificatePem, privateKeyPem } = identity('worker')
  writeFileSync(join(folder, 'worker.pem'), certificatePem)
  writeFileSync(join(folder, 'worker.key'), privateKeyPem, { mode: 0o600 })
  writeFileSync(join(folder, 'ca.pem'), authority.certificatePem)
})
afterEach(async () => {
  for (const upstream of upstreams.splice(0)) await upstream.close()
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(folder, { recursive: true })
})

const socket = () => join(folder, 'w.sock')

interface Started {
  readonly child: ChildProcess
  /** What was written to stdout and stderr so far. */
  readonly said: { stdout: string; stderr: string }
  readonly exited: Promise<number | null>
}

interface StartOptions {
  readonly node?: readonly string[]
  readonly more?: readonly string[]
  /** In the place of the file. */
  readonly vault?: readonly string[]
  /** Of a file, as number 3. */
  readonly descriptor?: number
  /** Said through a pipe, as number 3. */
  readonly said?: string
  readonly socket?: string
}

const stateOf = ({ raw }: { readonly raw: Buffer }): unknown => JSON.parse(raw.toString())
const vaultFile = () => join(folder, 'vault.key')

function start(options: StartOptions = {}): Started {
  const { node = [], more = [], vault = ['--vault-key-file', vaultFile()] } = options
  const file = (name: string) => join(folder, name)
  const place = ['--socket', options.socket ?? socket()]
  const args = [...place, '--cert', file('worker.pem'), '--key', file('worker.key'), ...vault]
  const child = spawn(process.execPath, [...node, main, ...args, '--ca', file('ca.pem'), ...more], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe', options.said ? 'pipe' : (options.descriptor ?? 'ignore')],
  })
  const pipe = options.said === undefined ? undefined : (child.stdio[3] as Writable)
  pipe?.end(options.said)
  children.push(child)
  const said = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    said.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    said.stderr += chunk
  })
  return { child, said, exited: once(child, 'exit').then(([code]) => code) }
}

/** Rejects when it ends instead. */
async function listening(started: Started): Promise<void> {
  const ended = started.exited.then((code) => {
    throw new Error(`ended with ${code}: ${started.said.stderr}`)
  })
  await Promise.race([
    expect.poll(() => started.said.stdout, { timeout: 10_000 }).toContain('\n'),
    ended,
  ])
}

const connect = (path = socket()) =>
  ScriptedGateway.connect({
    address: { path },
    identity: identity('gateway'),
    authorityPem: authority.certificatePem,
  })

test('says one line when it listens, on a socket only its user may open', async () => {
  const started = start()
  await listening(started)
  expect(JSON.parse(started.said.stdout)).toEqual({
    event: 'listening',
    pid: started.child.pid,
    instance: expect.stringMatching(/^ins_/),
    socket: socket(),
  })
  expect(statSync(socket()).mode & 0o777).toBe(0o600)
  const gateway = await connect()
  expect(gateway.hello).toMatchObject({ role: 'worker', pid: started.child.pid, build: 'source' })
  gateway.cut()
})

test('shows a certificate that was renewed while it runs', async () => {
  const hurried = new URL('../../../tests/harness/hurried-timers.mjs', import.meta.url)
  const more = ['--reconnect-window-ms', '500000']
  const started = start({ node: ['--import', hurried.href], more })
  await listening(started)
  const { certificatePem, privateKeyPem } = identity('worker')
  writeFileSync(join(folder, 'worker.key'), privateKeyPem)
  writeFileSync(join(folder, 'worker.pem'), certificatePem)
  await expect
    .poll(() => started.said.stderr, { timeout: 10_000 })
    .toContain('"event":"certificate_renewed"')
  const gateway = await connect()
  gateway.cut()
})

test('its vault key is made once, and its environment and arguments hold no secret', async () => {
  const upstream = await startUpstream({ bearer: token })
  upstreams.push(upstream)
  const first = start({ more: ['--allow-local-upstreams', '--build', 'b1'] })
  await listening(first)
  const gateway = await connect()
  const key = gateway.hello.vault
  if (!key) throw new Error('no vault key')
  const connection = sealForTest({ url: upstream.url, token, key })
  expect((await gateway.order({ connection })).head.verdict).toBe('result')
  expect(gateway.hello.build).toBe('b1')
  const file = readFileSync(vaultFile(), 'utf8')
  expect(file).toMatch(/\n-----BEGIN PRIVATE KEY-----/)
  expect(statSync(vaultFile()).mode & 0o777).toBe(0o600)
  for (const name of ['environ', 'cmdline']) {
    const text = readFileSync(`/proc/${first.child.pid}/${name}`, 'latin1')
    expect(text).not.toContain('SENTINEL')
    expect(text).not.toContain(file.split('\n')[2])
  }
  expect(readFileSync(`/proc/${first.child.pid}/environ`, 'latin1')).not.toContain('PATH=')
  first.child.kill('SIGTERM')
  expect(await first.exited).toBe(0)
  const second = start()
  await listening(second)
  const again = await connect()
  expect(again.hello.vault).toEqual(key)
  expect(again.hello.instance).not.toBe(gateway.hello.instance)
  expect(first.said.stderr + second.said.stderr).not.toContain('SENTINEL')
  again.cut()
})

test('its key comes by a descriptor, or by what a program prints, and is not made there', async () => {
  const made = makeKey(1)
  writeFileSync(vaultFile(), writeKeyText(made), { mode: 0o600 })
  const descriptor = openSync(vaultFile(), 'r')
  const inherited = start({ vault: ['--vault-key-fd', '3'], descriptor })
  await listening(inherited)
  const gateway = await connect()
  expect(gateway.hello).toMatchObject({
    vault: { kid: made.kid },
    keys: { source: 'descriptor', keys: [{ kid: made.kid, madeAt: 1 }] },
    coreDumps: existsSync('/proc/self/coredump_filter') ? 'off' : 'unknown',
  })
  gateway.cut()
  inherited.child.kill('SIGTERM')
  await inherited.exited
  const command = `/bin/cat ${vaultFile()}`
  await listening(start({ vault: ['--vault-key-command', command] }))
  const other = await connect()
  expect(other.hello.keys).toMatchObject({ source: 'command', keys: [{ kid: made.kid }] })
  other.cut()
  closeSync(descriptor)
})

test('its key comes through a pipe, which is read once and to its end', async () => {
  const made = makeKey(1)
  const started = start({ vault: ['--vault-key-fd', '3'], said: writeKeyText(made) })
  await listening(started)
  const gateway = await connect()
  expect(gateway.hello.keys?.keys).toMatchObject([{ kid: made.kid }])
  expect(stateOf(await gateway.tend('keys'))).toMatchObject({ keys: [{ kid: made.kid }] })
  expect((await gateway.tend('rotate')).head).toMatchObject({ code: 'vault_key_fixed' })
  gateway.cut()
})

test.each([
  ['an empty descriptor', ['--vault-key-fd', '3'], 'vault_key_unusable', 'no key in descriptor'],
  ['a program that fails', ['--vault-key-command', '/bin/false'], 'vault_key_unusable', 'with 1'],
  ['a program without its path', ['--vault-key-command', 'cat x'], 'internal', 'whole path'],
  ['two keys', ['--vault-key-fd', '3', '--vault-key-file', 'x'], 'internal', 'one of'],
  ['no key', [], 'internal', 'one of'],
] as const)('with %s it does not start, and says why', async (_what, vault, code, because) => {
  writeFileSync(vaultFile(), '')
  const descriptor = openSync(vaultFile(), 'r+')
  const { exited, said } = start({ vault, descriptor })
  expect(await exited).toBe(1)
  expect(JSON.parse(said.stdout)).toEqual({ event: 'not_started', code })
  expect(said.stderr).toContain(because)
  expect(readFileSync(vaultFile(), 'utf8')).toBe('')
  closeSync(descriptor)
})

test('workers that start together on one empty key file seal to one key, and it is there', async () => {
  writeFileSync(vaultFile(), '', { mode: 0o600 })
  const sockets = [1, 2, 3, 4].map((n) => join(folder, `${n}.sock`))
  const started = sockets.map((path) => start({ socket: path }))
  await Promise.all(started.map(listening))
  const kids = new Set<string | undefined>()
  for (const path of sockets) {
    const gateway = await connect(path)
    kids.add(gateway.hello.vault?.kid)
    gateway.cut()
  }
  expect(kids.size).toBe(1)
  expect(readKeyText(readFileSync(vaultFile(), 'utf8')).keys[0]?.kid).toBe([...kids][0])
})

test('without permission it calls no server of this machine', async () => {
  const upstream = await startUpstream()
  upstreams.push(upstream)
  await listening(start())
  const gateway = await connect()
  const key = gateway.hello.vault
  if (!key) throw new Error('no vault key')
  const { head } = await gateway.order({ connection: sealForTest({ url: upstream.url, key }) })
  expect(head).toMatchObject({ verdict: 'not_sent', code: 'local_upstreams_off' })
  expect(upstream.connections).toBe(0)
  gateway.cut()
})

test('told to end, it finishes what is in flight, ends sessions, and exits with 0', async () => {
  const upstream = await startUpstream({ era: 'legacy' })
  upstreams.push(upstream)
  const { child, said, exited } = start({ more: ['--allow-local-upstreams'] })
  await expect.poll(() => existsSync(socket()), { timeout: 10_000 }).toBe(true)
  const gateway = await connect()
  const key = gateway.hello.vault
  if (!key) throw new Error('no vault key')
  const connection = sealForTest({ url: upstream.url, key })
  const { raw } = await gateway.order({ connection })
  const tools = JSON.parse(raw.toString()).tools as { name: string; digest: string }[]
  const toolDigest = tools.find(({ name }) => name === 'counter_add')?.digest as string
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const order = { connection, tool: 'counter_add', toolDigest, arguments: { by: 1 } }
  const { id } = gateway.submit(order)
  await upstream.received('tools/call')
  child.kill('SIGTERM')
  await expect.poll(() => said.stderr).toContain('stopping')
  const late = await gateway.order(order)
  expect(late.head).toMatchObject({ verdict: 'not_sent', code: 'shutting_down' })
  expect(child.exitCode).toBeNull()
  upstream.answerHeld()
  expect((await gateway.result(id)).head.verdict).toBe('result')
  expect(await exited).toBe(0)
  expect(upstream.deletes).toBe(1)
  expect(existsSync(socket())).toBe(false)
})

test('ends by itself when no gateway comes, and not while one is there', async () => {
  const alone = start({ more: ['--reconnect-window-ms', '100'] })
  expect(await alone.exited).toBe(0)
  expect(alone.said.stderr).toContain('"because":"no gateway"')
  const started = start({ more: ['--reconnect-window-ms', '1500'] })
  await listening(started)
  const gateway = await connect()
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  expect(started.child.exitCode).toBeNull()
  gateway.cut()
  expect(await started.exited).toBe(0)
})

test('outlives the one who started it and reads its lines', async () => {
  const started = start()
  await listening(started)
  started.child.stdout?.destroy()
  started.child.stderr?.destroy()
  for (let i = 0; i < 3; i++) {
    const gateway = await connect()
    gateway.send('ping', { n: i })
    await gateway.until(() => gateway.of('pong').length > 0)
    gateway.cut()
  }
  expect(started.child.exitCode).toBeNull()
})

test('takes the place of a socket nobody answers at, and not of one somebody does', async () => {
  const first = start()
  await listening(first)
  const second = start()
  expect(await second.exited).toBe(1)
  expect(second.said.stderr).toContain('data_in_use')
  expect(first.child.exitCode).toBeNull()
  first.child.kill('SIGKILL')
  await first.exited
  expect(existsSync(socket())).toBe(true)
  await listening(start())
  const gateway = await connect()
  expect(gateway.hello.pid).not.toBe(first.child.pid)
  gateway.cut()
})

test('a signal that would open a debugger does nothing', async () => {
  const started = start()
  await listening(started)
  started.child.kill('SIGUSR1')
  const gateway = await connect()
  gateway.send('ping', { n: 1 })
  await gateway.until(() => gateway.of('pong').length > 0)
  expect(started.said.stderr).not.toContain('Debugger')
  gateway.cut()
})

test('says what is missing, and refuses another Node', async () => {
  const unknown = start({ more: ['--unknown'] })
  expect(await unknown.exited).toBe(1)
  expect(unknown.said.stderr).toContain('not_started')
  const older = `data:text/javascript,${encodeURIComponent(
    'Object.defineProperty(process,"versions",{value:{...process.versions,node:"22.21.0"}})',
  )}`
  const old = start({ node: ['--import', older] })
  expect(await old.exited).toBe(1)
  expect(old.said.stderr).toContain('wrong_node')
  expect(old.said.stdout).toBe('')
})
