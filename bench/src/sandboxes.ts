/**
 * What a sandbox costs: from the command to the first word of the guest, and the memory that stays beside it. With `--bundle`
 * the bundled command line (`node scripts/bundle.ts` makes it) instead of the sources, whose types are stripped as they are loaded.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startSallyport } from '../../tests/harness/start-sallyport.ts'

const sessions = 20
const atOnce = 4
const program = fileURLToPath(
  new URL(
    process.argv.includes('--bundle') ? '../../dist/cli.js' : '../../apps/cli/bin/sallyport.js',
    import.meta.url,
  ),
)
const flags = ['--max-semi-space-size=16']
const guest = 'echo > ready; while [ ! -e stop ]; do sleep 0.2; done'

interface Started {
  readonly child: ChildProcess
  readonly workspace: string
  readonly at: number
}

const root = mkdtempSync(join(tmpdir(), 'sallyport-bench-'))
const sallyport = await startSallyport()
await sallyport.api('profile.create', {}, { name: 'p', settings: { isolation: ['bubblewrap'] } })
const all: Started[] = []
const times: number[] = []
try {
  while (all.length < sessions) {
    const some = Array.from({ length: atOnce }, start)
    all.push(...some)
    times.push(...(await Promise.all(some.map(ready))))
  }
  // What starting left is gone by then.
  await delay(5_000)
  const bare = await bareNode()
  const beside = all.map(({ child }) =>
    privateKiB([child.pid as number, ...below(child.pid as number)]),
  )
  const report = {
    cpus: cpus().length,
    load: loadavg()[0],
    startMs: { median: median(times), min: Math.min(...times), max: Math.max(...times) },
    bareNodeKiB: bare,
    besideGuestKiB: { median: median(beside), beyondBareNode: median(beside) - bare },
  }
  console.log(JSON.stringify(report, null, 2))
} finally {
  for (const { workspace } of all) writeFileSync(join(workspace, 'stop'), '')
  await Promise.all(all.map(({ child }) => child.exitCode ?? once(child, 'exit')))
  await sallyport.stop()
  await sallyport.remove()
  rmSync(root, { recursive: true })
}

function start(): Started {
  const workspace = mkdtempSync(join(root, 'w-'))
  const words = ['run', '--profile', 'p', '--workspace', workspace, '--', 'sh', '-c', guest]
  const env = { PATH: process.env['PATH'] ?? '', HOME: root, SALLYPORT_DATA: sallyport.dataDir }
  const at = performance.now()
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  return {
    child: spawn(process.execPath, [...flags, program, ...words], { env, stdio: [...stdio] }),
    workspace,
    at,
  }
}

async function ready({ workspace, at }: Started): Promise<number> {
  while (!existsSync(join(workspace, 'ready'))) await delay(5)
  return performance.now() - at
}

async function bareNode(): Promise<number> {
  const child = spawn(process.execPath, [...flags, '-e', 'setInterval(() => {}, 1000)'])
  await delay(1_500)
  const size = privateKiB([child.pid as number])
  child.kill()
  await once(child, 'exit')
  return size
}

/** Everything but what the guest itself runs: the launcher, bubblewrap, the gate. */
function below(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const own = children.filter(Boolean).map(Number)
  return own.flatMap((child) => [child, ...(nameOf(child) === 'bwrap' ? below(child) : [])])
}

function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
}

function privateKiB(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
    return sum + of('Private_Clean') + of('Private_Dirty')
  }, 0)
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0)
}
