import type { Output } from '../world.ts'

/** Writes, and waits while the reader is slower: what is long must not pile up here. */
export async function writeOut(output: Output, text: string): Promise<void> {
  output.write(text)
  if (output.writableNeedDrain !== true) return
  await new Promise<void>((resolve) => {
    output.once?.('drain', resolve)
    output.once?.('close', resolve)
  })
}
