import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
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
import { identifyProcess } from './process-identity.ts'
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
  readonly third: string | null
}

const inWorker = (name: string) => join(data, 'worker', name)
const inGateway = (name: string) => join(data, 'gateway', name)

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
    identity: () => ({ ...pki.gateway, authorityPem: pki.authorityPem }),
    hello: () => helloOf({ role: 'gateway', instance: 'ins_gateway' }),
    build: 'test',
    allowLocalUpstreams: false,
    isolation: 'none',
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
    ...['--ca', inWorker('authority.pem'), '--vault-key-file', inWorker('vault.key')],
    '--allow-local-upstreams',
    ...['--reconnect-window-ms', '9000', '--build', 'test'],
  ])
})

test('allows local upstreams only when told to', async () => {
  await supervisorOf().start()
  expect(starts()[0]?.argv).not.toContain('--allow-local-upstreams')
})

test.each([
  ['its place in the data folder', undefined, () => ['--vault-key-file', inWorker('vault.key')]],
  ['a file', { file: '/srv/vault.key' }, () => ['--vault-key-file', '/srv/vault.key']],
  ['a command', { command: '/bin/kms get' }, () => ['--vault-key-command', '/bin/kms get']],
] as const)(
  'tells the worker where the vault key is, %s, and makes none',
  async (_what, vaultKey, flags) => {
    await supervisorOf(vaultKey ? { vaultKey } : {}).start()
    const [first] = starts()
    expect(first?.argv.join(' ')).toContain(flags().join(' '))
    expect(first?.third).toBeNull()
    expect(existsSync(inWorker('vault.key'))).toBe(false)
  },
)

test('hands a descriptor over as number 3, unread', async () => {
  const file = join(data, 'shared.key')
  writeFileSync(file, '0123456789abcdef', { mode: 0o600 })
  const descriptor = openSync(file, 'r')
  try {
    await supervisorOf({ vaultKey: { descriptor } }).start()
  } finally {
    closeSync(descriptor)
  }
  expect(starts()[0]?.argv.join(' ')).toContain('--vault-key-fd 3')
  expect(starts()[0]?.third).toBe('0123456789abcdef')
})

test('says when it is the vault key that a worker cannot have', async () => {
  behave({ notStarted: 'vault_key_unusable' })
  await expect(supervisorOf().start()).rejects.toMatchObject({ code: 'vault_key_unusable' })
  behave({ notStarted: 'internal' })
  await expect(supervisorOf().start()).rejects.toMatchObject({ code: 'worker_down' })
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
  expect(second.state()).toMatchObject({ pid, instance })
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
  ['vault key', { vaultKey: { file: '/srv/vault.key' } }],
])('replaces a worker that was started with other %s', async (_what, changed) => {
  const first = await startAbandoned()
  const second = supervisorOf(changed)
  await second.start()
  expect(isAlive(pidOf(first))).toBe(false)
  expect(pidOf(second)).not.toBe(pidOf(first))
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

test('ends what a gateway left that was killed before its worker said a word', async () => {
  preparePki(data)
  const leader = spawn('sh', ['-c', 'sleep 60 & echo $!; wait'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const member = Number(String((await once(leader.stdout, 'data'))[0]))
  const starting = { instance: 'starting', process: identifyProcess(leader.pid as number) }
  writeFileSync(inGateway('workers.json'), JSON.stringify([{ ...starting, command: [] }]))
  const supervisor = supervisorOf()
  await supervisor.start()
  await until(() => !isAlive(member))
  expect(isAlive(leader.pid as number)).toBe(false)
  expect(JSON.parse(readFileSync(inGateway('workers.json'), 'utf8'))).toMatchObject([
    { instance: instanceOf(supervisor) },
  ])
})

test('starts over the socket file of a dead worker and over a damaged register', async () => {
  preparePki(data)
  writeFileSync(inWorker('worker.sock'), '')
  writeFileSync(inGateway('workers.json'), '{"half')
  const supervisor = supervisorOf()
  await supervisor.start()
  expect(isAlive(pidOf(supervisor))).toBe(true)
})

test('leaves nothing when the worker does not come up', async () => {
  preparePki(data)
  writeFileSync(inGateway('worker.log'), '{"because":"of an earlier one"}\n')
  behave({ failAtStart: true })
  const supervisor = supervisorOf()
  await expect(supervisor.start()).rejects.toMatchObject({
    code: 'worker_down',
    cause: { message: expect.stringMatching(/^SallyportError: Something went wrong inside/) },
  })
  expect(supervisor.state()).toBeNull()
  expect(readFileSync(inGateway('worker.log'), 'utf8')).toContain('Something went wrong inside')
})

test('begins a new log when the old one is long', async () => {
  preparePki(data)
  writeFileSync(inGateway('worker.log'), '')
  truncateSync(inGateway('worker.log'), 10 * 1024 * 1024 + 1)
  await supervisorOf().start()
  expect(statSync(inGateway('worker.log')).size).toBe(0)
  expect(statSync(inGateway('worker.log.1')).size).toBe(10 * 1024 * 1024 + 1)
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
