/** Whether a worker's program begins at all in what a launch puts around it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { SallyportError } from '@sallyport/protocol'
import type { Clock } from '../clock.ts'
import { killGroup } from '../end-process.ts'
import type { Launch } from './launch.ts'

const triesMs = 10_000
const longestComplaint = 16_384
/** What this process, its user or the machine has no more of: it passes, and comes of nothing that is put around. */
const shortages: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'EAGAIN'])

/**
 * Starts it without its flags, which it says in a line before it ends. Undefined when it does; else what was complained of
 * instead, which may be nothing. What has not ended in time is killed, with whatever it started. Rejects with
 * `worker_down` when there is no room here for one more process.
 */
export async function tryProgram(
  { around, nodeFlags }: Launch,
  entry: string,
  clock: Clock,
): Promise<string | undefined> {
  const node = [process.execPath, ...nodeFlags, entry]
  const words = around
    ? [around.program, ...around.words, ...filterWords(around.filter, 3), '--', ...node]
    : node
  const [first = '', ...rest] = words
  const child = spawn(first, rest, {
    env: {},
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', around?.filter ? 'pipe' : 'ignore'],
  })
  if (child.pid === undefined) {
    const [error]: NodeJS.ErrnoException[] = await once(child, 'error')
    if (shortages.has(error?.code)) throw new SallyportError('worker_down', { cause: error })
    return String(error)
  }
  sendFilter(child.stdio[3], around?.filter)
  const said = collect(child.stdout)
  const complained = collect(child.stderr)
  const cancel = clock.after(triesMs, () => {
    killGroup(child)
    // Held open by one that left the group they would never be closed.
    for (const stream of child.stdio) stream?.destroy()
  })
  await once(child, 'close')
  cancel()
  return said() === '' ? complained() : undefined
}

/** `at`: the number under which bubblewrap reads it. */
export function filterWords(filter: Uint8Array | undefined, at: number): readonly string[] {
  return filter ? ['--seccomp', `${at}`] : []
}

/** Into the pipe from which bubblewrap reads it. */
export function sendFilter(pipe: unknown, filter: Uint8Array | undefined): void {
  if (!filter) return
  const writable = pipe as Writable
  // It may end before it reads: that is told by its end.
  writable.on('error', () => {})
  writable.end(filter)
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = ''
  stream?.on('data', (data: Buffer) => {
    if (text.length < longestComplaint) text += data.toString()
  })
  return () => text.trim()
}
