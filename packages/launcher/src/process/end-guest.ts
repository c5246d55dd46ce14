/** Ends every process of a guest, and proves that none is left. */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BornProcess } from '@sallyport/protocol'
import type { Destroyed } from '../sandbox.ts'
import { type Fate, fateOf } from './fate.ts'

export interface EndedGuest {
  /** The kernel ends a pid namespace with its first process, and that process only when all others are gone. */
  readonly first: BornProcess
  /** What started it, our own child. */
  readonly starter: Pick<ChildProcess, 'kill' | 'exitCode' | 'signalCode'>
  /**
   * Its other processes that can be told from all others now. By the number of a namespace or a session that is possible only
   * while the first one runs: afterwards the kernel gives it to the next guest.
   */
  readonly members: (isFirstRunning: boolean) => readonly BornProcess[]
  readonly patienceMs: number
}

const lookEveryMs = 10

/**
 * Resolves with `gone` as soon as that is proved, with `unresolved` when it is not within the time. Not being allowed to
 * end or to see something is not its end.
 */
export async function endGuest(guest: EndedGuest): Promise<Destroyed> {
  const until = performance.now() + guest.patienceMs
  const known = new Map<string, BornProcess>()
  for (;;) {
    const isFirstRunning = fateOf(guest.first) === 'running'
    for (const one of guest.members(isFirstRunning)) known.set(`${one.pid} ${one.start}`, one)
    const reason = attempt(guest, [...known.values()])
    if (reason === undefined) return { state: 'gone' }
    if (performance.now() > until) return { state: 'unresolved', reason }
    await sleep(lookEveryMs)
  }
}

/** Why it is not known to be gone. */
function attempt(
  { first, starter }: EndedGuest,
  members: readonly BornProcess[],
): string | undefined {
  const fate = endProcess(first)
  if (fate !== 'gone') return `its first process, ${first.pid}: ${describe(fate)}`
  if (starter.exitCode === null && starter.signalCode === null) {
    starter.kill('SIGKILL')
    return 'what started it has not ended'
  }
  const left = members.filter((one) => endProcess(one) !== 'gone').map(({ pid }) => pid)
  return left.length === 0 ? undefined : `processes ${left.join(', ')} have not ended`
}

function endProcess(born: BornProcess): Fate {
  const before = fateOf(born)
  if (before !== 'running') return before
  try {
    process.kill(born.pid, 'SIGKILL')
  } catch {
    // Gone meanwhile, or not ours to end: the look that follows tells which.
  }
  return fateOf(born)
}

function describe(fate: Exclude<Fate, 'gone'>): string {
  return fate === 'running' ? 'has not ended' : 'may not be looked at'
}
