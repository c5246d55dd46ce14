/** The command line as a person runs it, with nothing of our environment but what finds programs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { bundledProgram } from '../harness/bundled-programs.ts'

export interface Place {
  readonly dataDir: string
  /** Working folder and HOME: whatever the command line keeps for itself is kept there. */
  readonly home: string
}

export interface CommandOptions extends Place {
  /** Given on stdin, which is then closed. */
  readonly stdin?: string
  /** Starts the launcher, and with it the sources. When left out: the pinned one starts what ships. */
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
  const { dataDir, home, stdin = '', node, env = {}, uid } = options
  const [program = '', ...more] = node ? [...node, launcher, ...words] : shipped(words)
  const { PATH = '' } = process.env
  const child = spawn(program, more, {
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

/** The launcher would start the same two programs. */
function shipped(words: readonly string[]): readonly string[] {
  const [file, rest] =
    words[0] === 'up' ? [bundledProgram('gateway'), words.slice(1)] : [bundledProgram('cli'), words]
  return [process.execPath, ...(file ? [file, ...rest] : [launcher, ...words])]
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
