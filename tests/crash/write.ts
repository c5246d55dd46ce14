/** A write as a guest wants it done, once, and what it was told about it. */
import type { OpenSession } from '../harness/setup-connection.ts'
import type { Era } from '../system/raw-guest.ts'

/**
 * `done`: it was told so. `applied`, `not_applied`, `abandoned`: what a person found out. `denied`: a person said no. `gone`:
 * somebody else has the outcome. `open`: none of it, yet.
 */
export type Ending = 'open' | 'done' | 'applied' | 'not_applied' | 'abandoned' | 'denied' | 'gone'

/** An answer or a cut-off that a guest met, for whoever reads a failure. */
export interface Met {
  readonly how: string
  readonly what: string
  readonly executionId?: string | undefined
}

export interface Question {
  readonly guestUrl: string
  readonly from: number
  /** Infinite while it is open. */
  to: number
}

export class Write {
  readonly id: string
  readonly session: OpenSession
  readonly era: Era
  /** How long the upstream takes. */
  readonly ms: number
  readonly met: Met[] = []
  readonly asked: Question[] = []
  ending: Ending = 'open'

  constructor(given: Pick<Write, 'id' | 'session' | 'era' | 'ms'>) {
    this.id = given.id
    this.session = given.session
    this.era = given.era
    this.ms = given.ms
  }

  /** A question about it was open at that gateway, by `monotonicMs`. */
  wasInFlight(at: number, guestUrl: string): boolean {
    return this.asked.some((one) => one.guestUrl === guestUrl && one.from <= at && at <= one.to)
  }
}
