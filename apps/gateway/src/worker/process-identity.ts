/** A process that cannot be mistaken for a later one with its number, so that its end can be proved. */
import { readFileSync, readlinkSync } from 'node:fs'

export interface ProcessIdentity {
  readonly pid: number
  /** Boot and pid namespace it was seen in and the kernel's time of its start; null where there is no /proc. */
  readonly born: {
    readonly boot: string
    readonly namespace: string
    readonly start: string
  } | null
}

/** Undefined when there is no such process, or only its zombie. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const here = whereWeAre()
  if (!here) return answersSignals(pid) ? { pid, born: null } : undefined
  const start = startOf(pid)
  return start === undefined ? undefined : { pid, born: { ...here, start } }
}

/** True only when it cannot be running any more. */
export function isProvedGone({ pid, born }: ProcessIdentity): boolean {
  const here = whereWeAre()
  if (!here || !born) return !answersSignals(pid)
  if (born.boot !== here.boot) return true
  return born.namespace === here.namespace && startOf(pid) !== born.start
}

function whereWeAre(): { boot: string; namespace: string } | undefined {
  try {
    return {
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      namespace: readlinkSync('/proc/self/ns/pid'),
    }
  } catch {
    // Not Linux, or /proc is not mounted.
    return undefined
  }
}

/** Field 22 of /proc/PID/stat; the second one, a name in parentheses, may hold anything. */
function startOf(pid: number): string | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const isEnded = fields[0] === 'Z' || fields[0] === 'X'
  return isEnded ? undefined : fields[19]
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}
