/** How much memory a process held at most, as the system counts it. Linux; for processes of one's own. */
import { readFileSync, writeFileSync } from 'node:fs'

function kilobytes(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const [, size = '0'] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? []
  return Number(size)
}

/** Bytes a process held at most while `work` went on, beyond what it held before. */
export async function growthDuring(pid: number, work: () => Promise<void>): Promise<number> {
  // The peak begins anew.
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const before = kilobytes(pid, 'VmRSS')
  await work()
  return 1024 * (kilobytes(pid, 'VmHWM') - before)
}
