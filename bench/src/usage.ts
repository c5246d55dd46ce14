/** What processes cost, from /proc: CPU time and resident memory of whole trees. Linux only. */
import { readFileSync } from 'node:fs'
import { processTree } from '../../tests/clients/procscan.ts'

/** Both are fixed on every Linux that Node runs on here. */
const msPerTick = 10
const mibPerPage = 4096 / 2 ** 20

export interface Usage {
  /** User and system, children that have ended included. */
  readonly cpuMs: number
  readonly rssMib: number
}

/** Of the tree below `root`, without those of its descendants that are `others` and what is below them. */
export function usageOf(root: number, others: readonly number[] = []): Usage {
  let cpuMs = 0
  let rssMib = 0
  const tree = processTree(root)
  const below = others.filter((pid) => pid !== root && tree.includes(pid))
  const elsewhere = new Set(below.flatMap(processTree))
  for (const pid of tree) {
    if (elsewhere.has(pid)) continue
    const fields = statFields(pid)
    if (!fields) continue
    // utime, stime, and the same of children that were waited for.
    cpuMs += fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * msPerTick, 0)
    rssMib += Number(fields[21]) * mibPerPage
  }
  return { cpuMs, rssMib }
}

/** CPU time that the whole machine has spent on anything. */
export function machineBusyMs(): number {
  const line = readFileSync('/proc/stat', 'latin1').split('\n')[0] as string
  const [user, nice, system, , , irq, softirq, steal] = line.split(/\s+/).slice(1).map(Number)
  const busy = [user, nice, system, irq, softirq, steal].reduce<number>((a, b) => a + (b ?? 0), 0)
  return busy * msPerTick
}

/** Fields after the name, which may hold blanks. Undefined for a process that has ended. */
function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
