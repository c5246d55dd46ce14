/** Processes that cannot be mistaken for later ones with their number. */
import { readdirSync, readlinkSync } from 'node:fs'
import type { BornProcess } from '@sallyport/protocol'
import { isMissing, readProc } from '../evidence/proc-file.ts'

/** Undefined when there is no such process, or only its zombie. Throws when that may not be known. */
export function bornProcess(pid: number): BornProcess | undefined {
  const start = startOf(pid)
  if (start === undefined) return undefined
  return {
    pid,
    boot: readProc('/proc/sys/kernel/random/boot_id').trim(),
    namespace: readlinkSync('/proc/self/ns/pid'),
    start,
  }
}

/** Those of them that still run. */
export function bornProcesses(pids: readonly number[]): BornProcess[] {
  return pids.map((pid) => bornProcess(pid)).filter((born) => born !== undefined)
}

/** Field 22 of /proc/PID/stat; the second one, a name in parentheses, may hold anything. */
function startOf(pid: number): string | undefined {
  let stat: string
  try {
    stat = readProc(`/proc/${pid}/stat`)
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

/** Every process that this one can see. */
export function allProcesses(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}
