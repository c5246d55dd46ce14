/** One intent on its way through the worker. */
import type { ErrorCode } from '@sallyport/protocol'
import type { AnyIntent, ResultHead } from '@sallyport/protocol/node'
import type { Clock } from '../clock.ts'
import { skewMs } from '../intent/verify-batch.ts'
import type { KeptResult } from './kept-results.ts'

/**
 * `held`: verified, waiting for its body and for `committed` · `starting`: on its way, nothing written · `sent`: its
 * first byte has left · `ended`: there is a result · `fenced`: ended before its first byte, without a result.
 */
export type Phase = 'held' | 'starting' | 'sent' | 'ended' | 'fenced'

/** What travels beside an intent. */
export interface Luggage {
  readonly endpoint: string
  readonly credential: string | undefined
  readonly raw: Buffer
}

/** Where results go: the connection the order came by, or the one that asked for it last. */
export interface Recipient {
  send(kind: 'result' | 'late' | 'progress' | 'recovered', head: object, raw?: Buffer): void
}

export class Order {
  readonly intent: AnyIntent
  /** When it was received, on the monotonic clock. */
  readonly receivedAt: number
  phase: Phase = 'held'
  isCommitted = false
  luggage: Luggage | undefined
  isInFlight = false
  /** Known before it could start. */
  refusal: ErrorCode | undefined
  recipient: Recipient | undefined
  result: ResultHead | undefined
  /** The bytes of the result, while they are kept. */
  kept: KeptResult | undefined
  /** Set while it is sent: passes on the wish that it ends. */
  cancel: (() => void) | undefined

  constructor(intent: AnyIntent, receivedAt: number, recipient: Recipient) {
    this.intent = intent
    this.receivedAt = receivedAt
    this.recipient = recipient
  }

  get isUnsent(): boolean {
    return this.phase === 'held' || this.phase === 'starting'
  }

  /**
   * Milliseconds until it may not start any more: after it was received so long ago, or at its end, whichever comes
   * first. What the gateway knows of it is its end; how long it was on the way is not known there.
   */
  left(clock: Pick<Clock, 'monotonic' | 'now'>): number {
    const { startWithin, exp } = this.intent
    return Math.min(startWithin - (clock.monotonic() - this.receivedAt), exp + skewMs - clock.now())
  }

  /** The last act before the first byte: from here on it is sent. A code keeps it from that. */
  pass(clock: Pick<Clock, 'monotonic' | 'now'>): ErrorCode | undefined {
    if (this.phase !== 'starting') return 'not_sent'
    if (this.left(clock) < 0) return 'expired'
    this.phase = 'sent'
    return undefined
  }
}
