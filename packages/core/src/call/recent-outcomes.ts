/** Outcomes of the last minute, so that a client that sends the same call id twice gets the same answer. Bounded. */
import type { CallOutcome } from './ports.ts'

const keepMs = 60_000
const countLimit = 1000
const byteLimit = 16 * 1024 * 1024

interface Kept {
  readonly digest: string
  readonly outcome: Promise<CallOutcome>
  readonly bytes: number
  readonly until: number
}

export class RecentOutcomes {
  readonly #now: () => number
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(now: () => number) {
    this.#now = now
  }

  keep(key: string, digest: string, outcome: CallOutcome): void {
    const bytes = outcome.kind === 'result' ? outcome.result.byteLength : 0
    if (bytes > byteLimit / 4) return
    this.#drop(key)
    this.#kept.set(key, {
      digest,
      outcome: Promise.resolve(outcome),
      bytes,
      until: this.#now() + keepMs,
    })
    this.#bytes += bytes
    for (const [oldest, { until }] of this.#kept) {
      if (this.#kept.size <= countLimit && this.#bytes <= byteLimit && until > this.#now()) break
      this.#drop(oldest)
    }
  }

  get(key: string): Kept | undefined {
    const kept = this.#kept.get(key)
    if (kept && kept.until > this.#now()) return kept
    this.#drop(key)
    return undefined
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key)
    if (!kept) return
    this.#bytes -= kept.bytes
    this.#kept.delete(key)
  }
}
