import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, constants, openSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { SallyportError } from '@sallyport/protocol'
import { flushFolder } from '../files/write-durably.ts'
import type { Clock } from './clock.ts'

export interface SpawnOptions {
  /** Entry file and its flags. */
  readonly command: readonly string[]
  /** Opened for the worker and never read here. */
  readonly vaultKeyFile: string
  readonly logFile: string
  readonly clock: Clock
}

const listeningWithinMs = 15_000
const logLimit = 10 * 1024 * 1024
/** Left alone, V8's space for young objects grows under load to a third of the worker's memory, and gains nothing. */
const memoryFlags = ['--max-semi-space-size=16']

/**
 * Starts a worker that outlives this process, with nothing in its environment and the vault key as descriptor 3.
 * Resolves when it listens. Rejects with `worker_down` when it ends before, or is not there in time; then it is gone.
 */
export async function spawnWorker(options: SpawnOptions): Promise<ChildProcess> {
  keepMemoryOutOfDumps()
  rotate(options.logFile)
  const log = openSync(options.logFile, 'a', 0o600)
  const vault = openSync(options.vaultKeyFile, constants.O_RDWR | constants.O_CREAT, 0o600)
  // The worker may make its key now. A name that a power cut takes away would take every secret with it.
  flushFolder(dirname(options.vaultKeyFile))
  let child: ChildProcess
  try {
    child = spawn(process.execPath, [...memoryFlags, ...options.command], {
      cwd: dirname(options.logFile),
      env: {},
      detached: true,
      stdio: ['ignore', 'pipe', log, vault],
    })
  } finally {
    closeSync(log)
    closeSync(vault)
  }
  await listening(child, options.clock)
  child.unref()
  return child
}

/** The worker inherits it. RLIMIT_CORE would not do: it does not bind dumps that the system hands to a program. */
function keepMemoryOutOfDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // Not Linux: there is nothing to set.
  }
}

function rotate(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > logLimit) renameSync(path, `${path}.1`)
}

function listening(child: ChildProcess, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const stdout = child.stdout as NonNullable<ChildProcess['stdout']>
    const lines = createInterface({ input: stdout })
    const end = (settle: () => void) => {
      cancel()
      lines.close()
      stdout.destroy()
      settle()
    }
    const fail = (reason: string) =>
      end(() => reject(new SallyportError('worker_down', { cause: new Error(reason) })))
    const cancel = clock.after(listeningWithinMs, () => child.kill('SIGKILL'))
    lines.once('line', (line) => {
      if (isListening(line)) end(resolve)
      else child.kill('SIGKILL')
    })
    child.once('error', (error) => fail(String(error)))
    child.once('exit', (code, signal) =>
      fail(`the worker ended with ${signal ?? code} at its start`),
    )
  })
}

function isListening(line: string): boolean {
  try {
    return JSON.parse(line).event === 'listening'
  } catch {
    return false
  }
}
