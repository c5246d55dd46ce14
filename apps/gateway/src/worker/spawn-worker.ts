import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, renameSync, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import { keepMemoryOutOfDumps } from '../core-dumps.ts'
import type { Clock } from './clock.ts'
import { killGroup } from './end-process.ts'
import type { Launch } from './isolation/launch.ts'
import { filterWords, sendFilter } from './isolation/try-program.ts'
import { lastWords } from './last-words.ts'

export interface SpawnOptions {
  readonly launch: Launch
  /** Entry file and its flags. */
  readonly command: readonly string[]
  /** Descriptors that the worker inherits behind the standard ones. */
  readonly inherited: readonly number[]
  /** Where it runs, when it is not put somewhere else. */
  readonly folder: string
  readonly logFile: string
  /** Called at once with the process that was started: the leader of the group in which all of it is. */
  readonly began: (pid: number) => void
  readonly clock: Clock
}

export interface SpawnedWorker {
  /** What was started: the worker, or what stands around it and ends with it. */
  readonly child: ChildProcess
  /** Of the worker, as this process counts. */
  readonly pid: number
  /** As it calls itself. */
  readonly instance: string
}

const listeningWithinMs = 15_000
const logLimit = 10 * 1024 * 1024
/** Left alone, V8's space for young objects grows under load to a third of the worker's memory, and gains nothing. */
const memoryFlags = ['--max-semi-space-size=8']

/** Of bubblewrap: what it says, and the filter that it reads. */
function pipesOf({ around }: Launch): 'pipe'[] {
  if (!around) return []
  return around.filter ? ['pipe', 'pipe'] : ['pipe']
}

/** The worker said nothing of its own before it ended: what is around it may be why. */
export class SilentEnd extends SallyportError {
  constructor(reason: string) {
    super('worker_down', { cause: new Error(reason) })
  }
}

/**
 * Starts a worker that outlives this process, with nothing in its environment. Resolves when it listens. Rejects with
 * `vault_key_unusable` when it says so, with `worker_down` when it ends before for another reason, or is not there in
 * time; then it is gone.
 */
export async function spawnWorker(options: SpawnOptions): Promise<SpawnedWorker> {
  const { launch, command, inherited, folder, logFile, clock, began } = options
  keepMemoryOutOfDumps()
  rotate(logFile)
  const log = openSync(logFile, 'a', 0o600)
  const { size } = fstatSync(log)
  const [program = '', ...words] = wordsOf(launch, command, 3 + inherited.length)
  let child: ChildProcess
  try {
    child = spawn(program, words, {
      cwd: launch.around ? '/' : folder,
      env: {},
      detached: true,
      stdio: ['ignore', 'pipe', log, ...inherited, ...pipesOf(launch)],
    })
  } finally {
    closeSync(log)
  }
  // It then may have no streams either, and nobody else hears why.
  if (child.pid === undefined) throw new SilentEnd(String((await once(child, 'error'))[0]))
  began(child.pid)
  const [status, filter] = launch.around ? child.stdio.slice(3 + inherited.length) : []
  sendFilter(filter, launch.around?.filter)
  const numbered = status ? pidWithin(status as NodeJS.ReadableStream) : Promise.resolve(child.pid)
  const instance = await listening(child, clock, () => lastWords(logFile, size))
  const pid = await numbered
  if (pid === undefined) throw new SallyportError('worker_down')
  child.unref()
  return { child, pid, instance }
}

function wordsOf(
  { around, nodeFlags, moreFlags }: Launch,
  command: readonly string[],
  status: number,
): readonly string[] {
  const worker = [process.execPath, ...memoryFlags, ...nodeFlags, ...command, ...moreFlags]
  if (!around) return worker
  const descriptors = ['--json-status-fd', `${status}`, ...filterWords(around.filter, status + 1)]
  return [around.program, ...around.words, ...descriptors, '--', ...worker]
}

/** bubblewrap says which process is the first inside: that is the worker. Undefined when it says nothing. */
function pidWithin(status: NodeJS.ReadableStream): Promise<number | undefined> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: status })
    status.on('error', () => resolve(undefined))
    lines.once('close', () => resolve(undefined))
    lines.once('line', (line) => {
      const pid = eventOf(line)?.['child-pid']
      resolve(typeof pid === 'number' ? pid : undefined)
      // It writes once more, at its end, when nobody may be there to read.
      ;(status as unknown as { unref?: () => void }).unref?.()
      status.resume()
    })
  })
}

function rotate(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > logLimit) renameSync(path, `${path}.1`)
}

/** Resolves with what the worker calls itself. `words`: those it left in its log. */
function listening(child: ChildProcess, clock: Clock, words: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const stdout = child.stdout as NonNullable<ChildProcess['stdout']>
    const lines = createInterface({ input: stdout })
    const end = (settle: () => void) => {
      cancel()
      child.off('exit', ended)
      lines.close()
      stdout.destroy()
      settle()
    }
    let refused: ErrorCode | undefined
    const fail = (reason: string) =>
      end(() =>
        reject(
          refused === undefined
            ? new SilentEnd(reason)
            : new SallyportError(refused, { cause: new Error(reason) }),
        ),
      )
    const ended = (code: number | null, signal: NodeJS.Signals | null) =>
      fail(words() || `the worker ended with ${signal ?? code} at its start`)
    const cancel = clock.after(listeningWithinMs, () => killGroup(child))
    lines.once('line', (line) => {
      const said = eventOf(line)
      if (said?.['event'] === 'listening') return end(() => resolve(String(said['instance'])))
      refused = said?.['code'] === 'vault_key_unusable' ? 'vault_key_unusable' : 'worker_down'
      killGroup(child)
    })
    child.once('exit', ended)
  })
}

function eventOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
