import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import type { World } from './world.ts'

export interface LineAsked {
  readonly question: string
  /** Aborted when nobody waits for the line any more. */
  readonly over: AbortSignal
  /** The interrupt key: as long as a line is read, the system does not hear of it. */
  readonly interrupted?: () => void
}

/** A line of the terminal, which is let go afterwards; undefined when there is none. */
export function readLine(
  { stdin, stderr }: World,
  { question, over, interrupted }: LineAsked,
): Promise<string | undefined> {
  const input = keysOf(stdin)
  const output = stderr as unknown as NodeJS.WritableStream
  const lines = createInterface({ input, output, terminal: true })
  const end = (): void => lines.close()
  return new Promise<string | undefined>((resolve) => {
    lines.on('close', () => resolve(undefined))
    lines.on('SIGINT', () => {
      end()
      interrupted?.()
    })
    over.addEventListener('abort', end, { once: true })
    // What breaks is not ended by itself behind a pipe.
    stdin.once('error', end)
    lines.question(question, (line) => {
      resolve(line)
      end()
    })
    if (over.aborted || stdin.errored) end()
  }).finally(() => {
    over.removeEventListener('abort', end)
    stdin.off('error', end)
    stdin.unpipe(input)
    stdin.pause()
  })
}

/** A terminal that was hung up cannot be set any more: then readline throws where nobody could catch it. */
function keysOf(stdin: World['stdin']): PassThrough {
  const setRawMode = (on: boolean): void => {
    try {
      stdin.setRawMode?.(on)
    } catch {
      // Whoever sat there is gone; the end of the input says so.
    }
  }
  return stdin.pipe(Object.assign(new PassThrough(), { setRawMode }))
}
