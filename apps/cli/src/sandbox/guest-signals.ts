/** What the system tells us is for the guest, whose terminal session is its own; what asks us to end, ends the run. */
import type { Guest } from '@sallyport/launcher'
import type { SignalName, Signals } from '../world.ts'

const passedOn = ['SIGINT', 'SIGWINCH'] as const
const ending = ['SIGTERM', 'SIGHUP'] as const
/** Stopped, we would not be heard of any more, and the session would end. */
const ignored = ['SIGTSTP'] as const
/** A terminal tells the whole group, and whoever started us may tell us once more. */
const onceWithinMs = 100

export interface GuestSignals {
  /** Aborted when everything has to end. */
  readonly stop: AbortSignal
  /** From now on; before, an interrupt ends the run. */
  passTo(guest: Pick<Guest, 'signal'>): void
  end(): void
}

export function guestSignals(signals: Signals): GuestSignals {
  const stop = new AbortController()
  let guest: Pick<Guest, 'signal'> | undefined
  let interruptedAt = -onceWithinMs
  const listeners = new Map<SignalName, () => void>()
  for (const name of passedOn)
    listeners.set(name, () => {
      if (name === 'SIGINT') {
        const isAgain = performance.now() - interruptedAt < onceWithinMs
        interruptedAt = performance.now()
        if (isAgain) return
      }
      if (guest) guest.signal(name)
      else if (name === 'SIGINT') stop.abort()
    })
  for (const name of ending) listeners.set(name, () => stop.abort())
  for (const name of ignored) listeners.set(name, () => undefined)
  for (const [name, listener] of listeners) signals.on(name, listener)
  return {
    stop: stop.signal,
    passTo: (released) => {
      guest = released
    },
    end: () => {
      for (const [name, listener] of listeners) signals.off(name, listener)
    },
  }
}
