/** The two ends of a run: the session's, which is told, and the guest's, which is proved. */
import { setTimeout as delay } from 'node:timers/promises'
import { type endReasons, SallyportError } from '@sallyport/protocol'
import type { Destroyed, Guest } from '../sandbox.ts'
import { isAway, type SessionPort } from './session-port.ts'

export type EndReason = (typeof endReasons)[number]

/** For the guest to end by itself when it is told to. */
const graceMs = 3_000
/** For a gateway that is away to hear why the session ended; later it sees only that its owner is gone. */
const tellMs = 5_000
const retryMs = 250
/** Times ten seconds. */
const attempts = 6

export async function askToEnd(guest: Guest): Promise<void> {
  guest.signal('SIGTERM')
  const enough = new AbortController()
  const late = delay(graceMs, undefined, { signal: enough.signal }).catch(() => undefined)
  await Promise.race([guest.ended, late])
  enough.abort()
}

/** Never rejects: when it cannot be told, the gateway sees that the owner is gone. */
export async function endSession(
  port: Pick<SessionPort, 'end'>,
  { id, ownerKey }: { readonly id: string; readonly ownerKey: string },
  reason: EndReason,
): Promise<void> {
  const until = performance.now() + tellMs
  for (;;) {
    try {
      await port.end(id, { ownerKey, reason })
      return
    } catch (error) {
      if (!isAway(error) || performance.now() > until) return
      await delay(retryMs)
    }
  }
}

/** Rejects with `not_gone` when it cannot be proved; every attempt that failed is told. */
export async function proveGone(guest: Guest, told: (reason: string) => void): Promise<void> {
  let destroyed: Destroyed = { state: 'gone' }
  for (let attempt = 0; attempt < attempts; attempt++) {
    destroyed = await guest.destroy()
    if (destroyed.state === 'gone') return
    told(destroyed.reason)
  }
  const cause = destroyed.state === 'gone' ? undefined : destroyed.reason
  throw new SallyportError('not_gone', { cause })
}
