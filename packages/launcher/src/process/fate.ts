import { readFileSync, readlinkSync } from 'node:fs'
import type { BornProcess } from '@sallyport/protocol'

/** `gone` is certain; `hidden`: there may be such a process, and it is not ours to see. */
export type Fate = 'running' | 'gone' | 'hidden'

/** What became of a process that was seen before. */
export function fateOf({ pid, boot, namespace, start }: BornProcess): Fate {
  if (readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() !== boot) return 'gone'
  // Its number is that of another process here.
  if (readlinkSync('/proc/self/ns/pid') !== namespace) return 'hidden'
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return answersSignals(pid) ? 'hidden' : 'gone'
  }
  // The second field, a name in parentheses, may hold anything; the third is the state, the 22nd the time of its start.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const hasEnded = fields[0] === 'Z' || fields[0] === 'X' || fields[19] !== start
  return hasEnded ? 'gone' : 'running'
}

/** Also when it is somebody else's: /proc may be mounted so that it does not show those. */
function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
