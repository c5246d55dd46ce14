/**
 * So that of workers that begin together on one file without a key only one makes it. It keeps a second key from being made,
 * and nothing else depends on it: of two in one file the first one counts. So whoever waits too long goes on without.
 */
import { rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

/** A worker writes its key within milliseconds of taking the lock. One that was there all this time was left by a crash. */
const staleMs = 3_000
const lookEveryMs = 20

/**
 * Runs `make` with the lock at that path, or, where somebody else has it, not before `isMade` or that one has had its time.
 * Without a lock where none can be made. `make` is for it to ask again whether anything is to be made.
 */
export async function withFirstKeyLock(
  path: string,
  isMade: () => boolean,
  make: () => Promise<void>,
): Promise<void> {
  const taken = await take(path, isMade)
  try {
    if (!isMade()) await make()
  } finally {
    if (taken) release(path)
  }
}

/** False: it is not held by us, because it is not needed any more, or cannot be made. */
async function take(path: string, isMade: () => boolean): Promise<boolean> {
  for (let waited = 0; waited < staleMs; waited += lookEveryMs) {
    try {
      await using _file = await open(path, 'wx', 0o600)
      return true
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException
      if (code !== 'EEXIST') return false
    }
    if (isMade()) return false
    await wait(lookEveryMs)
  }
  return true
}

function release(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Left, it costs the next one who begins on an empty file a short wait.
  }
}
