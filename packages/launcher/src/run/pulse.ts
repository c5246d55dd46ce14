/** The owner's heartbeat: says that the launcher is there, proves the sandbox again when asked, hears of the session's end. */
import { setTimeout as delay } from 'node:timers/promises'
import type { SandboxEvidence } from '@sallyport/protocol'
import { isAway, type SessionPort } from './session-port.ts'

export interface PulseOptions {
  readonly port: Pick<SessionPort, 'hear' | 'show'>
  readonly session: string
  readonly ownerKey: string
  /** Told what is denied now; resolves when that is in force and confirmed. */
  readonly denied: (revision: number) => Promise<void>
  /** What is seen of the sandbox now. */
  readonly look: () => Promise<SandboxEvidence>
  readonly timing: PulseTiming
}

export interface PulseTiming {
  readonly everyMs: number
  /** How long the sandbox goes on while there is no gateway. */
  readonly withoutGatewayMs: number
}

export const defaultTiming: PulseTiming = { everyMs: 2_000, withoutGatewayMs: 600_000 }

/** Why the sandbox has to go. */
export type PulseEnd =
  | { readonly why: 'session_ended'; readonly reason: string }
  | { readonly why: 'gateway_gone' }
  | { readonly why: 'refused'; readonly error: unknown }
  | { readonly why: 'stopped' }

/** Resolves when the sandbox has to go, or with `stopped` once `stop` is aborted. Never rejects. */
export async function keepPulse(options: PulseOptions, stop: AbortSignal): Promise<PulseEnd> {
  const { everyMs, withoutGatewayMs } = options.timing
  let heardAt = performance.now()
  while (!stop.aborted) {
    try {
      const end = await beat(options)
      if (end) return end
      heardAt = performance.now()
    } catch (error) {
      if (!isAway(error)) return { why: 'refused', error }
      if (performance.now() - heardAt > withoutGatewayMs) return { why: 'gateway_gone' }
    }
    await delay(everyMs, undefined, { signal: stop }).catch(stopped)
  }
  return { why: 'stopped' }
}

async function beat(options: PulseOptions): Promise<PulseEnd | undefined> {
  const { port, session, ownerKey, look, denied } = options
  const { state, endReason, prove, denySet } = await port.hear(session, { ownerKey })
  if (state === 'closing' || state === 'ended')
    return { why: 'session_ended', reason: endReason ?? 'ended' }
  await denied(denySet)
  if (prove) await port.show(session, { ownerKey, evidence: await look() })
  return undefined
}

/** The loop looks at the signal itself. */
const stopped = (): void => undefined
