import type { BornProcess } from '@sallyport/protocol'
import { identifyProcess, isProvedGone } from '../worker/process-identity.ts'

/**
 * True only when the launcher cannot be running any more. One of another machine or container is never proved gone from here,
 * nor is one of another user where /proc does not show those: they are lost by their silence.
 */
export function isOwnerGone({ pid, boot, namespace, start }: BornProcess): boolean {
  if (!isProvedGone({ pid, born: { boot, namespace, start } })) return false
  return identifyProcess(pid) !== undefined || !answersSignals(pid)
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
