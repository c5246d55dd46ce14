/**
 * Runs a program in a network of its own where every address, public or not, is this machine: what would be dialled can
 * be dialled, and nothing leaves. Names are asked of the program itself, and the hosts file is the one given here.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** With processes of its own, so that none outlives it. */
const namespaces =
  '--user --map-root-user --net --mount --pid --mount-proc --fork --kill-child'.split(' ')
const network =
  'ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo'

/** Why there can be no such network here; undefined when there can. */
export const isolationProblem: string | undefined = problemHere()

/** Of a suite that needs it: why it is skipped belongs to it. */
export const isolationTitle = `every address is this machine${isolationProblem ? ` (${isolationProblem})` : ''}`

function problemHere(): string | undefined {
  const { error, status, stderr } = spawnSync('unshare', [...namespaces, 'sh', '-c', network], {
    encoding: 'utf8',
  })
  if (error) return `no unshare: ${error.message}`
  return status === 0 ? undefined : `no network of its own: ${stderr.trim().split('\n')[0]}`
}

export interface IsolatedOptions {
  readonly program: string
  readonly args?: readonly string[]
  readonly hosts?: string
  readonly env?: Readonly<Record<string, string>>
}

const atMostMs = 50_000

/** What the program wrote to its stdout, as JSON. Rejects when it fails or takes too long; its stderr is the message. */
export async function runIsolated<T>(options: IsolatedOptions): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-isolated-'))
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const resolv = file('resolv.conf', 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
  const hosts = file('hosts', `127.0.0.1 localhost\n::1 localhost\n${options.hosts ?? ''}`)
  const binds = `mount --bind ${resolv} /etc/resolv.conf && mount --bind ${hosts} /etc/hosts`
  const words = [process.execPath, options.program, ...(options.args ?? [])]
  const script = [`${network} && ${binds} && exec "$@"`, 'sh', ...words]
  const child = spawn('unshare', [...namespaces, 'sh', '-c', ...script], {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const late = setTimeout(() => child.kill('SIGKILL'), atMostMs)
  try {
    return await jsonOf<T>(child)
  } finally {
    clearTimeout(late)
    rmSync(folder, { recursive: true })
  }
}

async function jsonOf<T>(child: ChildProcess): Promise<T> {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const [code, signal] = await once(child, 'close')
  if (code !== 0) throw new Error(`ended with ${signal ?? code}\n${stderr}${stdout}`)
  return JSON.parse(stdout)
}
