import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { isProvedGone, type ProcessIdentity } from './process-identity.ts'

/** Milliseconds to wait after each signal. A worker finishes what is in flight, for up to ten seconds. */
const patience = { SIGTERM: 15_000, SIGKILL: 5_000 }
const lookEveryMs = 20

/** Asks a process to end, then makes it. Resolves with whether it is proved gone. */
export async function endProcess(
  identity: ProcessIdentity,
  waits: typeof patience = patience,
): Promise<boolean> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (isProvedGone(identity)) return true
    signalProcess(identity.pid, signal)
    if (await goneWithin(identity, waits[signal])) return true
  }
  return false
}

async function goneWithin(identity: ProcessIdentity, ms: number): Promise<boolean> {
  for (let waited = 0; waited < ms; waited += lookEveryMs) {
    if (isProvedGone(identity)) return true
    await sleep(lookEveryMs)
  }
  return isProvedGone(identity)
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended meanwhile, or is not ours: the look that follows tells which.
  }
}

/** Makes the group that this process leads end, and resolves with whether its leader is proved gone. */
export async function endGroup(identity: ProcessIdentity): Promise<boolean> {
  if (!isProvedGone(identity)) signalProcess(-identity.pid, 'SIGKILL')
  return await goneWithin(identity, patience.SIGKILL)
}

/** Of one that was started detached: it leads a group of its own, in which is whatever was started inside. */
export function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) signalProcess(-pid, 'SIGKILL')
}
