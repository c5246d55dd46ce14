import type { Output } from '../world.ts'

/** Writes, and waits while the reader is slower: what is long must not pile up here. */
export async function writeOut(output: Output, text: string): Promise<void> {
  output.write(text)
  if (output.writableNeedDrain !== true) return
  const events = ['drain', 'close'] as const
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      for (const event of events) output.off?.(event, settle)
      resolve()
    }
    for (const event of events) output.on?.(event, settle)
  })
}
