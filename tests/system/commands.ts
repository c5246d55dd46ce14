/** The command line as a person runs it: through the launcher, with nothing of our environment but what finds programs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export interface Place {
  readonly dataDir: string
  /** Working folder and HOME: whatever the command line keeps for itself is kept there. */
  readonly home: string
}

export interface CommandOptions extends Place {
  /** Given on stdin, which is then closed. */
  readonly stdin?: string
  /** The pinned one when left out. */
  readonly node?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Runs as this user. */
  readonly uid?: number
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningCommand {
  readonly pid: number
  readonly ended: Promise<Ended>
  kill(signal: NodeJS.Signals): void
}

const launcher = fileURLToPath(new URL('../../apps/cli/bin/sallyport.js', import.meta.url))

export function startCommand(words: readonly string[], options: CommandOptions): RunningCommand {
  const { dataDir, home, stdin = '', node = [process.execPath], env = {}, uid } = options
  const [program = '', ...flags] = node
  const { PATH = '' } = process.env
  const child = spawn(program, [...flags, launcher, ...words], {
    cwd: home,
    env: { PATH, HOME: home, SALLYPORT_DATA: dataDir, ...env },
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  // A command that ends before it read its stdin says so by its exit code.
  child.stdin.on('error', () => {}).end(stdin)
  return {
    pid: child.pid as number,
    ended: collect(child),
    kill: (signal) => void child.kill(signal),
  }
}

export function runCommand(words: readonly string[], options: CommandOptions): Promise<Ended> {
  return startCommand(words, options).ended
}

async function collect(child: ChildProcess): Promise<Ended> {
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve)
    child.once('error', reject)
  })
  const [code, stdout, stderr] = await Promise.all([
    closed,
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
  ])
  return { code, stdout, stderr }
}
