/**
 * One hermetic run of a real client against a guest endpoint. The environment is built from nothing, so that no
 * credential of whoever runs the tests reaches a client; home, work and temporary folder are the run's own.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'

export const tokenVariable = 'SALLYPORT_SESSION_TOKEN'
const runLimitMs = 90_000

/** What the client is told about the one MCP server it gets. */
export interface GuestServer {
  readonly name: string
  readonly endpoint: string
  readonly token: string
}

export interface Job {
  readonly program: string
  readonly prompt: string
  readonly modelUrl: string
  readonly server: GuestServer
  /** How long the client waits for the answer to one call. Its own default when not given. */
  readonly callLimitMs?: number
  /** When the run is ended from outside. */
  readonly runLimitMs?: number
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface ClientRun {
  readonly pid: number
  /** Everything the client can write to. */
  readonly folder: string
  readonly ended: Promise<Ended>
  /** Ends what still runs and removes the folder. */
  remove(): Promise<void>
}

export interface Start {
  readonly program: string
  readonly args: readonly string[]
  /** Beside those every run has. */
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly runLimitMs?: number | undefined
}

export interface Place {
  readonly folder: string
  readonly home: string
  readonly work: string
  start(what: Start): ClientRun
}

export async function makePlace(client: string): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), `sallyport-${client}-`))
  // Codex refuses a home below the temporary folder: the client gets another temporary folder than we have.
  const [home, work, temporary] = ['home', 'work', 'tmp'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [home, work, temporary]) await mkdir(path)
  const base = {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    TMPDIR: temporary,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    NO_COLOR: '1',
  }
  const start = (what: Start): ClientRun => {
    // Its own process group, so that ending the run ends whatever the client started.
    const child = spawn(what.program, what.args, {
      cwd: work,
      env: { ...base, ...what.env },
      stdio: [what.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true,
    })
    // A client that ended before it read everything is judged by what it did.
    child.stdin?.on('error', () => undefined).end(what.stdin)
    return {
      pid: child.pid as number,
      folder,
      ended: collect(child, what.runLimitMs ?? runLimitMs),
      remove: async () => {
        endGroup(child)
        await rm(folder, { recursive: true, force: true, maxRetries: 5 })
      },
    }
  }
  return { folder, home, work, start }
}

async function collect(child: ChildProcess, limitMs: number): Promise<Ended> {
  const timer = setTimeout(() => endGroup(child), limitMs)
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve)
    child.once('error', reject)
  })
  try {
    const [code, stdout, stderr] = await Promise.all([
      closed,
      text(child.stdout as NodeJS.ReadableStream),
      text(child.stderr as NodeJS.ReadableStream),
    ])
    return { code, stdout, stderr }
  } finally {
    clearTimeout(timer)
    endGroup(child)
  }
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    // Gone already is what we want.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
