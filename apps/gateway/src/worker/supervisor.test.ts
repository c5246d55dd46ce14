import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { preparePki } from '../pki/prepare-pki.ts'
import { type Clock, systemClock } from './clock.ts'
import { helloOf, SteppedClock } from './scripted-worker.ts'
import { type SupervisorOptions, WorkerSupervisor } from './supervisor.ts'

let data: string
let started: WorkerSupervisor[]
let logged: string[]

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sallyport-supervisor-'))
  started = []
  logged = []
})
afterEach(async () => {
  for (const supervisor of started) await supervisor.stop()
  for (const { pid } of starts()) expect(isAlive(pid)).toBe(false)
  rmSync(data, { recursive: true })
})

interface Start {
  readonly pid: number
  readonly environment: string
  readonly argv: string[]
  readonly vault: { mode: number; first: number }
}

const inWorker = (name: string) => join(data, 'worker', name)

function starts(): Start[] {
  const path = inWorker('started.jsonl')
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

function supervisorOf(options: Partial<SupervisorOptions> & { clock?: Clock } = {}) {
  const pki = preparePki(options.dataDir ?? data)
  const log = (_fields: object, message: string) => logged.push(message)
  const supervisor = new WorkerSupervisor({
    dataDir: data,
    workerFiles: pki.workerFiles,
    identity: { ...pki.gateway, authorityPem: pki.authorityPem },
    hello: () => helloOf({ role: 'gateway', instance: 'ins_gateway' }),
    build: 'test',
    allowLocalUpstreams: false,
    entry: fileURLToPath(new URL('tiny-worker.ts', import.meta.url)),
    clock: systemClock,
    log: { info: log, warn: log, error: log },
    ...options,
  })
  started.push(supervisor)
  return supervisor
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

async function until(holds: () => unknown): Promise<void> {
  for (let i = 0; i < 1_000; i++) {
    if (holds()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('did not come true')
}

const behave = (behaviour: object) => {
  preparePki(data)
  writeFileSync(inWorker('behaviour.json'), JSON.stringify(behaviour))
}
const pidOf = (supervisor: WorkerSupervisor) => supervisor.state()?.pid as number
const instanceOf = (supervisor: WorkerSupervisor) => supervisor.state()?.instance as string

/** The supervisor of a gateway that was killed: its clock stands, it never starts a worker again. */
async function startAbandoned(): Promise<WorkerSupervisor> {
  const supervisor = supervisorOf({ clock: new SteppedClock(Date.now()) })
  await supervisor.start()
  return supervisor
}

test('starts a worker with its flags and nothing in its environment', async () => {
  const supervisor = supervisorOf({ allowLocalUpstreams: true, reconnectWindowMs: 9_000 })
  await supervisor.start()
  const [first] = starts()
  expect(first?.pid).toBe(supervisor.state()?.pid)
  expect(first?.environment).toBe('')
  expect(readFileSync(`/proc/${pidOf(supervisor)}/environ`, 'utf8')).toBe('')
  const pem = inWorker('worker.pem')
  expect(first?.argv).toEqual([
    ...['--socket', inWorker('worker.sock'), '--cert', pem, '--key', pem],
    ...['--ca', inWorker('authority.pem'), '--allow-local-upstreams'],
    ...['--reconnect-window-ms', '9000', '--build', 'test'],
  ])
})

test('allows local upstreams only when told to', async () => {
  await supervisorOf().start()
  expect(starts()[0]?.argv).not.toContain('--allow-local-upstreams')
})

test('hands the vault key over as descriptor 3, made for its owner alone', async () => {
  await supervisorOf().start()
  expect(starts()[0]?.vault).toEqual({ mode: 0o600, first: 0 })
  expect(statSync(inWorker('vault.key')).size).toBe(0)
})

test('hands a given vault key over from its beginning', async () => {
  const vaultKeyFile = join(data, 'shared.key')
  writeFileSync(vaultKeyFile, '0123456789abcdef', { mode: 0o600 })
  await supervisorOf({ vaultKeyFile }).start()
  expect(starts()[0]?.vault.first).toBe(16)
  expect(existsSync(inWorker('vault.key'))).toBe(false)
})

test('stops the worker and removes its socket', async () => {
  const supervisor = supervisorOf()
  await supervisor.start()
  const pid = pidOf(supervisor)
  const instance = instanceOf(supervisor)
  expect(existsSync(inWorker('worker.sock'))).toBe(true)
  expect(supervisor.provedGone(instance)).toBe(false)
  await supervisor.stop()
  expect(isAlive(pid)).toBe(false)
  expect(existsSync(inWorker('worker.sock'))).toBe(false)
  expect(supervisor.provedGone(instance)).toBe(true)
  expect(supervisor.provedGone('never seen')).toBe(false)
  expect(supervisor.state()).toBeNull()
})

test('keeps the memory of the worker out of core dumps', async () => {
  const supervisor = supervisorOf()
  await supervisor.start()
  const filter = readFileSync(`/proc/${pidOf(supervisor)}/coredump_filter`, 'utf8')
  expect(Number.parseInt(filter, 16)).toBe(0)
})

test('starts a dead worker again and proves the dead one gone', async () => {
  const supervisor = supervisorOf()
  await supervisor.start()
  const [pid, instance] = [pidOf(supervisor), instanceOf(supervisor)]
  process.kill(pid, 'SIGKILL')
  await until(() => supervisor.state() && pidOf(supervisor) !== pid)
  expect(supervisor.provedGone(instance)).toBe(true)
  expect(supervisor.provedGone(instanceOf(supervisor))).toBe(false)
})

test('adopts the worker that a gateway without an end left, and watches it', async () => {
  const first = await startAbandoned()
  const [pid, instance] = [pidOf(first), instanceOf(first)]
  const second = supervisorOf()
  await second.start()
  expect(second.state()).toEqual({ pid, instance })
  expect(starts()).toHaveLength(1)
  process.kill(pid, 'SIGKILL')
  await until(() => second.state() && pidOf(second) !== pid)
  expect(second.provedGone(instance)).toBe(true)
})

test('proves a worker gone that ended while no gateway was there', async () => {
  const first = await startAbandoned()
  const [pid, instance] = [pidOf(first), instanceOf(first)]
  process.kill(pid, 'SIGKILL')
  await until(() => !isAlive(pid))
  const second = supervisorOf()
  await second.start()
  expect(second.provedGone(instance)).toBe(true)
  expect(pidOf(second)).not.toBe(pid)
})

test.each([
  ['flags', { allowLocalUpstreams: true }],
  ['build', { build: 'another' }],
  ['vault key', { vaultKeyFile: join(tmpdir(), `sallyport-vault-${process.pid}`) }],
])('replaces a worker that was started with other %s', async (_what, changed) => {
  const first = await startAbandoned()
  const second = supervisorOf(changed)
  await second.start()
  expect(isAlive(pidOf(first))).toBe(false)
  expect(pidOf(second)).not.toBe(pidOf(first))
  if ('vaultKeyFile' in changed) rmSync(changed.vaultKeyFile)
})

test('replaces a worker of another release', async () => {
  behave({ release: '9.9.9' })
  const first = await startAbandoned()
  behave({})
  const second = supervisorOf()
  await second.start()
  expect(isAlive(pidOf(first))).toBe(false)
  expect(second.state()?.pid).not.toBe(pidOf(first))
})

test('ends a worker whose socket is gone before it starts another', async () => {
  const first = await startAbandoned()
  rmSync(inWorker('worker.sock'))
  const second = supervisorOf()
  await second.start()
  expect(isAlive(pidOf(first))).toBe(false)
  expect(isAlive(pidOf(second))).toBe(true)
})

test('starts over the socket file of a dead worker and over a damaged register', async () => {
  preparePki(data)
  writeFileSync(inWorker('worker.sock'), '')
  writeFileSync(inWorker('processes.json'), '{"half')
  const supervisor = supervisorOf()
  await supervisor.start()
  expect(isAlive(pidOf(supervisor))).toBe(true)
})

test('leaves nothing when the worker does not come up', async () => {
  behave({ failAtStart: true })
  const supervisor = supervisorOf()
  await expect(supervisor.start()).rejects.toMatchObject({ code: 'worker_down' })
  expect(supervisor.state()).toBeNull()
  expect(readFileSync(inWorker('worker.log'), 'utf8')).toContain('Something went wrong inside')
})

test('begins a new log when the old one is long', async () => {
  preparePki(data)
  writeFileSync(inWorker('worker.log'), '')
  truncateSync(inWorker('worker.log'), 10 * 1024 * 1024 + 1)
  await supervisorOf().start()
  expect(statSync(inWorker('worker.log')).size).toBe(0)
  expect(statSync(inWorker('worker.log.1')).size).toBe(10 * 1024 * 1024 + 1)
})

test('starts ten times in a minute, then waits until the minute is over', async () => {
  const clock = new SteppedClock(Date.now())
  const supervisor = supervisorOf({ clock })
  await supervisor.start()
  behave({ failAtStart: true })
  process.kill(pidOf(supervisor), 'SIGKILL')
  const delays: number[] = []
  for (let i = 0; i < 10; i++) {
    const before = logged.length
    await until(() => logged.length > before || i === 0)
    await until(() => clock.pending().some((ms) => ms < 15_000 || i === 9))
    const next = clock.pending().at(i === 9 ? -1 : 0) as number
    delays.push(next)
    clock.step(next)
  }
  expect(delays.slice(0, 9)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000])
  expect(logged).toContain('the worker ends again and again; pausing')
})

test('puts the socket into a private folder when its path would be too long', async () => {
  const dataDir = join(data, 'x'.repeat(120))
  const supervisor = supervisorOf({ dataDir })
  await supervisor.start()
  const { path } = supervisor.address as { path: string }
  const folder = join(path, '..')
  expect(path).toMatch(new RegExp(`/sallyport-${userInfo().uid}-[0-9a-f]{16}/w\\.sock$`))
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  const pid = pidOf(supervisor)
  await supervisor.stop()
  expect(isAlive(pid)).toBe(false)
  expect(existsSync(folder)).toBe(false)
})

test('refuses a folder for the socket that others may write', async () => {
  const dataDir = join(data, 'y'.repeat(120))
  const supervisor = supervisorOf({ dataDir })
  const folder = join((supervisor.address as { path: string }).path, '..')
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  await expect(supervisor.start()).rejects.toMatchObject({ code: 'data_not_writable' })
  chmodSync(folder, 0o700)
  await supervisor.start()
  expect(isAlive(pidOf(supervisor))).toBe(true)
})
