/** What an agent is asked: the words of the command line; or stdin, of a terminal line by line, of anything else as a whole. */
import { text } from 'node:stream/consumers'
import { readLine } from '../line.ts'
import type { World } from '../world.ts'

/** Ends when there is nothing more to ask, or `over` is aborted. */
export async function* prompts(
  words: readonly string[],
  world: World,
  over: AbortSignal,
): AsyncGenerator<string> {
  if (words.length > 0) return yield words.join(' ')
  if (world.stdin.isTTY !== true) {
    const whole = await text(world.stdin)
    if (whole.trim() !== '') yield whole
    return
  }
  const asked = { question: '> ', over }
  for (
    let line = await readLine(world, asked);
    line !== undefined;
    line = await readLine(world, asked)
  )
    if (line.trim() !== '') yield line
}
