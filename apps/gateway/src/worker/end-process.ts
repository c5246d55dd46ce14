import { setTimeout as sleep } from 'node:timers/promises'
import { isProvedGone, type ProcessIdentity } from './process-identity.ts'

const termWithinMs = 5_000
const killWithinMs = 5_000
const lookEveryMs = 20

/** Asks a process to end, then makes it. Resolves with whether it is proved gone, within ten seconds. */
export async function endProcess(identity: ProcessIdentity): Promise<boolean> {
  for (const [signal, ms] of [
    ['SIGTERM', termWithinMs],
    ['SIGKILL', killWithinMs],
  ] as const) {
    if (isProvedGone(identity)) return true
    signalProcess(identity.pid, signal)
    if (await goneWithin(identity, ms)) return true
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
