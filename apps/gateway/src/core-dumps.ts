/** Memory that may have held a secret for a moment stays out of core dumps, that of the worker too, which inherits it. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { CoreDumps } from '@sallyport/protocol/node'

/** RLIMIT_CORE would not do: it does not bind dumps that the system hands to a program, and Node cannot set it. */
const filter = '/proc/self/coredump_filter'

export function keepMemoryOutOfDumps(): void {
  try {
    writeFileSync(filter, '0')
  } catch {
    // Not Linux, or not ours to set: what came of it is told by `coreDumps`.
  }
}

/** A filter without a bit lets no page of memory into a dump. */
export function coreDumps(): CoreDumps {
  try {
    return /^0+$/.test(readFileSync(filter, 'utf8').trim()) ? 'off' : 'on'
  } catch {
    return 'unknown'
  }
}
