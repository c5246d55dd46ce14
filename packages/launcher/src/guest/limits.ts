import { parseLimits } from '../evidence/limits.ts'
import { readProc } from '../evidence/proc-file.ts'
import type { GuestLimits, GuestSpec } from '../sandbox.ts'

const defaults: GuestLimits = { processes: 4096, openFiles: 65_536, temporaryKiB: 1 << 20 }

/** What was asked for, or the default; nobody can have more than this process may have itself. */
export function guestLimits({ limits }: Pick<GuestSpec, 'limits'>): GuestLimits {
  const wanted = { ...defaults, ...limits }
  const own = parseLimits(readProc('/proc/self/limits'))
  return {
    ...wanted,
    processes: Math.min(wanted.processes, own.processes),
    openFiles: Math.min(wanted.openFiles, own.openFiles),
  }
}
