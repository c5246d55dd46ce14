/** What becomes of the worker on machines that let it have less, and when what stands around it is killed. */
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { bundledProgram } from '../harness/bundled-programs.ts'
import { isAlive, killAndProveGone, processesWith } from '../harness/processes.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { eventually } from '../system/eventually.ts'
import { isolatedSuite } from './isolated-suite.ts'

const isRoot = process.getuid?.() === 0
let folder: string
/** A PATH on which bubblewrap is one that makes nothing, as where a system forbids it. */
let poor: Record<string, string>
const running: Sallyport[] = []
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-machines-'))
  writeFileSync(
    join(folder, 'bwrap'),
    '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n',
  )
  chmodSync(join(folder, 'bwrap'), 0o755)
  poor = { PATH: [folder, process.env['PATH']].join(delimiter) }
})
afterEach(async () => {
  for (const one of running.splice(0)) await one.remove()
})
afterAll(() => rmSync(folder, { recursive: true }))

async function start(args: readonly string[], env = {}): Promise<Sallyport> {
  const sallyport = await startSallyport({ args, env })
  running.push(sallyport)
  return sallyport
}

/** Null while there is none. */
async function layersOf({ url }: Sallyport): Promise<Record<string, string> | null> {
  const response = await fetch(`${url}/readyz`)
  const { worker } = (await response.json()) as {
    worker: { isolation: Record<string, string> | null }
  }
  return worker.isolation
}

test('where bubblewrap makes nothing, it starts with what is left, and doctor says why', async () => {
  const sallyport = await start([], poor)
  expect(await layersOf(sallyport)).toMatchObject({
    files: 'off',
    processes: 'off',
    system_calls: 'off',
    permission: 'on',
    environment: 'on',
  })
  const { items } = await sallyport.api('doctor.run')
  expect(items.find(({ id }) => id === 'worker-isolation:files')).toMatchObject({
    state: 'warning',
    text: expect.stringContaining('bwrap: setting up uid map: Permission denied'),
    who: 'operator',
    next: expect.stringContaining('bubblewrap'),
  })
  expect(sallyport.output()).toContain('the worker is less isolated')
})

test('where it is required, that is an error, and nothing is left running', async () => {
  const dataDir = join(folder, 'data')
  const args = ['--worker-isolation', 'require']
  await expect(startSallyport({ dataDir, args, env: poor })).rejects.toThrow(
    /worker_not_isolated: .*--worker-isolation require.* — who can act: operator/,
  )
  expect(processesWith(dataDir)).toEqual([])
  const sallyport = await startSallyport({ dataDir, env: poor })
  running.push(sallyport)
  expect(processesWith(dataDir)).toHaveLength(2)
})

/** Of the process that started it. */
function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

await isolatedSuite('what stands around the worker', () => {
  test('when it is killed alone, the worker goes too before another one starts', async () => {
    const sallyport = await start(['--worker-isolation', 'require'])
    const worker = sallyport.workerPid() as number
    const around = parentOf(worker)
    expect(around).not.toBe(sallyport.pid)
    await killAndProveGone(around)
    const next = await eventually(
      () => sallyport.workerPid() as number,
      (pid) => pid !== worker,
      15_000,
    )
    expect([isAlive(worker), isAlive(next)]).toEqual([false, true])
    expect(sallyport.processes().sort()).toEqual([sallyport.pid, next].sort())
    const layers = () => layersOf(sallyport)
    expect(await eventually(layers, (found) => found !== null)).toMatchObject({ files: 'on' })
  })

  test.runIf(isRoot)('a program that is for root alone is found out at the start', async () => {
    const programs = join(folder, 'programs')
    cpSync(dirname(bundledProgram('gateway') as string), programs, { recursive: true })
    const program = join(programs, 'gateway.js')
    const dataDir = join(folder, 'closed')
    chmodSync(programs, 0o700)
    const closed = startSallyport({ dataDir, program })
    await expect(closed).rejects.toThrow(/^worker_not_started: .* — who can act: operator\./m)
    await expect(closed).rejects.toThrow(`may not read ${programs}: let everybody read`)
    expect(processesWith(dataDir)).toEqual([])
    chmodSync(programs, 0o755)
    const open = await startSallyport({ dataDir, program })
    running.push(open)
    expect(await layersOf(open)).toMatchObject({ user: 'on' })
  })

  test('a worker that cannot run is not taken for a machine that cannot isolate', async () => {
    const sallyport = await start(['--worker-isolation', 'require'])
    const file = join(sallyport.dataDir, 'worker', 'vault.key')
    const key = readFileSync(file)
    writeFileSync(file, 'no key')
    await sallyport.stop()
    const args = ['--worker-isolation', 'require']
    await expect(sallyport.restart({ args })).rejects.toThrow(/vault_key_unusable/)
    writeFileSync(file, key)
    await sallyport.restart({ args })
    expect(await layersOf(sallyport)).toMatchObject({ files: 'on' })
  })
})
