/** Ends processes of a test by their number, and proves them gone. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** False for a zombie too. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}

/** Living processes with that text in their arguments, which must be something no other process would name. */
export function processesWith(argument: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => isAliveWith(pid, argument))
}

function isAliveWith(pid: number, argument: string): boolean {
  try {
    // What stands around a worker names what it starts, and ends with it.
    const isAround = readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'bwrap'
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return isAlive(pid) && !isAround && words.includes(argument)
  } catch {
    return false
  }
}

async function goneWithin(pid: number, ms: number): Promise<boolean> {
  for (let waited = 0; waited < ms; waited += 10) {
    if (!isAlive(pid)) return true
    await sleep(10)
  }
  return !isAlive(pid)
}

/** Throws when the process is still there after five seconds. */
export async function killAndProveGone(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already: what follows proves it.
  }
  if (!(await goneWithin(pid, 5_000))) throw new Error(`process ${pid} does not end`)
}
