/** Tells on stderr that something takes its time. */
import type { Output } from '../world.ts'

const frames = ['|', '/', '-', '\\']
const frameMs = 120
/** What ends sooner needs no telling, and leaves stderr to the one line of an error. */
const plainAfterMs = 1000

/** A terminal gets a line that moves and goes away again; anything else one line; `quiet` nothing. */
export async function withProgress<T>(
  stderr: Output,
  quiet: boolean,
  text: string,
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

function spin(stderr: Output, text: string): () => void {
  let frame = 0
  const draw = (): void => {
    stderr.write(`\r${frames[frame++ % frames.length]} ${text} `)
  }
  draw()
  const timer = setInterval(draw, frameMs)
  return () => {
    clearInterval(timer)
    stderr.write('\r\x1b[K')
  }
}

function tellLate(stderr: Output, text: string): () => void {
  const timer = setTimeout(() => stderr.write(`${text} …\n`), plainAfterMs)
  return () => clearTimeout(timer)
}
