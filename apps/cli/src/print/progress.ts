/** Tells on stderr that something takes its time. */
import type { Output } from '../world.ts'

const frames = ['|', '/', '-', '\\']
const frameMs = 120
/** What ends sooner needs no telling, and leaves stderr to the one line of an error. */
const plainAfterMs = 1000

/** Text that changes is asked for each time. A terminal gets a line that moves and goes away again; anything else one line; `quiet` nothing. */
export async function withProgress<T>(
  stderr: Output,
  quiet: boolean,
  text: string | (() => string),
  work: Promise<T>,
): Promise<T> {
  if (quiet) return work
  const stop = stderr.isTTY === true ? spin(stderr, text) : tellLate(stderr, text)
  try {
    return await work
  } finally {
    stop()
  }
}

function spin(stderr: Output, text: string | (() => string)): () => void {
  let frame = 0
  const draw = (): void => {
    stderr.write(`\r\x1b[K${frames[frame++ % frames.length]} ${said(text)} `)
  }
  draw()
  const timer = setInterval(draw, frameMs)
  return () => {
    clearInterval(timer)
    stderr.write('\r\x1b[K')
  }
}

function tellLate(stderr: Output, text: string | (() => string)): () => void {
  const timer = setTimeout(() => stderr.write(`${said(text)} …\n`), plainAfterMs)
  return () => clearTimeout(timer)
}

const said = (text: string | (() => string)): string => (typeof text === 'string' ? text : text())
