/** The memory of intent ids. An id that was seen, or asked about, is spent: it is never acted on again. */
import { longestLifeMs, skewMs } from '../intent/verify-batch.ts'
import type { Order, Recipient } from './order.ts'

interface Entry {
  /** Undefined for an id that is spent and no more: settled, refused, or fenced before it was seen. */
  order: Order | undefined
  readonly iat: number
  /** It must be remembered until then, ms since 1970. */
  readonly until: number
  /** It may have left for an upstream: forgetting it makes the memory shorter. */
  mayHaveLeft: boolean
}

/** Ids are remembered longer than they must, as long as they are few: a late question then gets an answer. */
const rememberMs = 600_000
const rememberAtMost = 20_000
/** Results that nobody settles are kept as long as they are not absurdly many. */
const unsettledAtMost = 20_000

export class Ledger {
  /** Oldest first. */
  readonly #entries = new Map<string, Entry>()
  readonly #since: number
  /** Ids issued later than this that may have left for an upstream are still known. */
  #forgottenUpTo: number

  /** `now`: milliseconds since 1970. */
  constructor(now: number) {
    this.#since = now - skewMs
    this.#forgottenUpTo = this.#since
  }

  /** The memory reaches back to here, on the clock of the gateways. */
  get since(): number {
    return this.#forgottenUpTo
  }

  get size(): number {
    return this.#entries.size
  }

  has(id: string): boolean {
    return this.#entries.has(id)
  }

  /** The order behind an id; undefined when it is spent without one, or not known. */
  find(id: string): Order | undefined {
    return this.#entries.get(id)?.order
  }

  add(order: Order): void {
    const { id, iat, exp } = order.intent
    this.#entries.set(id, { order, iat, until: exp + skewMs, mayHaveLeft: false })
  }

  /**
   * An id without an order. `iat` may be a lie: the id is remembered as long as an intent issued now could live.
   * `mayHaveLeft`: it is not known here that nothing was done under it.
   */
  spend(id: string, iat: number, now: number, mayHaveLeft: boolean): void {
    const until = Math.max(iat, now) + longestLifeMs + 2 * skewMs
    this.#entries.set(id, { order: undefined, iat, until, mayHaveLeft })
  }

  /** True for a spent id without an order of which nothing has ever left. */
  isUnused(id: string): boolean {
    const entry = this.#entries.get(id)
    return entry !== undefined && entry.order === undefined && !entry.mayHaveLeft
  }

  /** The orders whose results go there. */
  ordersOf(recipient: Recipient): Order[] {
    const orders = [...this.#entries.values()].map(({ order }) => order)
    return orders.filter((order) => order?.recipient === recipient) as Order[]
  }

  /** The order is over and its outcome is safe elsewhere; the id stays spent. */
  settle(id: string): void {
    const entry = this.#entries.get(id)
    if (!entry?.order) return
    entry.mayHaveLeft = mayHaveLeft(entry.order)
    entry.order = undefined
  }

  /** Whether "never seen" would be the truth about an id that is not known and was issued then. */
  reachesBackTo(iat: number): boolean {
    return iat > this.#forgottenUpTo
  }

  /** Forgets what may be forgotten. Called every second. */
  sweep(now: number): void {
    let excess = this.#excess()
    for (const [id, entry] of this.#entries) {
      if (entry.until >= now) return
      const { order } = entry
      const isOver = !order || order.phase === 'fenced' || (order.phase === 'ended' && excess-- > 0)
      const isPlenty = this.#entries.size > rememberAtMost || entry.until + rememberMs < now
      if (isOver && isPlenty) this.#forget(id, entry)
    }
  }

  /** How many results too many nobody has settled. */
  #excess(): number {
    if (this.#entries.size <= unsettledAtMost) return 0
    const ended = [...this.#entries.values()].filter(({ order }) => order?.phase === 'ended')
    return Math.max(0, ended.length - unsettledAtMost)
  }

  #forget(id: string, entry: Entry): void {
    this.#entries.delete(id)
    if (entry.mayHaveLeft || (entry.order && mayHaveLeft(entry.order)))
      this.#forgottenUpTo = Math.max(this.#forgottenUpTo, entry.iat)
  }
}

function mayHaveLeft({ result }: Order): boolean {
  return result !== undefined && result.verdict !== 'not_sent'
}
