import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of the heap and of buffers that something still holds, after everything else was collected. */
export async function settledHeap(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
