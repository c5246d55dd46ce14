/** A gateway and a worker that are made to dump core, where the system writes it to a file: no secret is in it. */
import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { apiAt, type CallApi } from '../harness/call-api.ts'
import { killAndProveGone, processesWith } from '../harness/processes.ts'
import { eventually } from '../system/eventually.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { addConnection } from './key-world.ts'
import { searchFile } from './process-memory.ts'

const pattern = existsSync('/proc/sys/kernel/core_pattern')
  ? readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim()
  : ''
/** Elsewhere a program of the system takes them, whose place we do not know. */
const isFile = /^core(?:\.%p)?$/.test(pattern)

const main = fileURLToPath(new URL('../../apps/gateway/src/main.ts', import.meta.url))
const token = 'SENTINEL-token-0123456789abcdef'
const needles = { token: [Buffer.from(token)] }

let folder: string
let upstream: Upstream
const folders: string[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-cores-'))
  upstream = await startUpstream()
})
afterEach(async () => {
  for (const each of folders.splice(0))
    for (const pid of processesWith(each)) await killAndProveGone(pid)
})
afterAll(async () => {
  await upstream?.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Running {
  readonly api: CallApi
  readonly pid: number
  readonly workerPid: number
  /** Where each of them leaves its core. */
  readonly places: { readonly gateway: string; readonly worker: string }
}

/** One that may dump as much as it wants, and has opened a secret a moment ago. */
async function start(): Promise<Running> {
  const home = mkdtempSync(join(folder, 'run-'))
  const dataDir = join(home, 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  folders.push(dataDir)
  const flags = ['--json', '--data', dataDir, '--port', '0', '--guest-port', '0']
  const script = 'ulimit -c unlimited && exec "$0" "$@"'
  // An isolated one leaves no core at all where root starts it: what is looked for here is the other.
  const open = ['--allow-local-upstreams', '--worker-isolation', 'none']
  const words = [process.execPath, main, 'up', ...flags, ...open]
  const child = spawn('sh', ['-c', script, ...words], {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ready = await new Promise<Record<string, string>>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)))
    child.once('exit', (code) => reject(new Error(`ended with ${code}`)))
  })
  const admin = readFileSync(ready['adminTokenFile'] as string, 'utf8').trim()
  const api = apiAt(
    () => ready['url'] as string,
    () => admin,
  )
  await addConnection({ api } as never, { name: 'lab', token, url: upstream.url, scope: 'org' })
  expect(await api('connection.test', { name: 'lab' })).toMatchObject({ state: 'ok' })
  const workerPid = (await api('status.show')).worker.pid as number
  const places = { gateway: home, worker: join(dataDir, 'worker') }
  return { api, pid: child.pid as number, workerPid, places }
}

async function dumpOf(pid: number, place: string): Promise<string> {
  process.kill(pid, 'SIGABRT')
  const core = () => readdirSync(place).find((name) => name.startsWith('core'))
  await eventually(
    () => existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '),
    (isThere) => !isThere,
    30_000,
  )
  return join(place, core() ?? 'none')
}

test.skipIf(!isFile)(
  `no secret is in the core of the worker (core_pattern: ${pattern})`,
  {
    timeout: 60_000,
  },
  async () => {
    const { workerPid, places } = await start()
    const core = await dumpOf(workerPid, places.worker)
    expect(statSync(core).size).toBeGreaterThan(0)
    expect(searchFile(core, needles).found).toEqual([])
  },
)

test.skipIf(!isFile)(
  'the control: without what it set at its start, the secret is in it',
  {
    timeout: 60_000,
  },
  async () => {
    const { workerPid, places } = await start()
    writeFileSync(`/proc/${workerPid}/coredump_filter`, '0x33')
    const core = await dumpOf(workerPid, places.worker)
    expect(searchFile(core, needles).found).toEqual(['token'])
  },
)

test.skipIf(!isFile)(
  'the core of the gateway has no page of its memory',
  {
    timeout: 60_000,
  },
  async () => {
    const { api, pid, places } = await start()
    const name = { name: [Buffer.from('core-dump-sentinel-name')] }
    await api('profile.create', {}, { name: 'core-dump-sentinel-name', settings: {} })
    const core = await dumpOf(pid, places.gateway)
    expect(searchFile(core, { ...name, ...needles }).found).toEqual([])
    expect(statSync(core).size).toBeLessThan(4 * 1024 * 1024)
  },
)

test('the doctor says that memory stays out of core dumps', { timeout: 60_000 }, async () => {
  const { api } = await start()
  const { items } = await api('doctor.run')
  expect(items.find(({ id }) => id === 'core-dumps')).toMatchObject({
    state: existsSync('/proc/self/coredump_filter') ? 'ok' : 'warning',
  })
})
