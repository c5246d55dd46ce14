/**
 * What the worker remembers of the tools of a connection: the newest listing that was accepted. A listing is fetched
 * with nothing held and counts only if, when it comes, everything it was asked under still holds.
 */
import { SallyportError } from '@sallyport/protocol'
import type { Digest, Listing } from '@sallyport/protocol/node'

export interface ListingSource {
  /** Fetches a listing. Rejects with SallyportError. */
  list(): Promise<Listing>
  /** Whether the connection, its revision and its credential are still those the source was made for. */
  isCurrent(): boolean
}

export interface CatalogOptions {
  /** Milliseconds on a clock that never steps. */
  readonly monotonic: () => number
  readonly accepted: (listing: Listing) => void
}

interface Accepted {
  readonly tools: ReadonlyMap<string, Digest>
  readonly at: number
}

const attempts = 2

export class Catalog {
  readonly #options: CatalogOptions
  readonly #fetching = new Map<ListingSource, Promise<Listing>>()
  #accepted: Accepted | undefined
  #isStale = true
  /** Counts announcements of the server, so that one during a fetch is noticed. */
  #changes = 0
  #tickets = 0
  #newestAccepted = 0

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  /** Milliseconds since the accepted listing was asked for; infinite when there is none. */
  get age(): number {
    if (!this.#accepted) return Number.POSITIVE_INFINITY
    return this.#options.monotonic() - this.#accepted.at
  }

  /** Of the accepted listing; undefined for a tool that is not in it. */
  digestOf(tool: string): Digest | undefined {
    return this.#accepted?.tools.get(tool)
  }

  isFresh(withinMs: number): boolean {
    return !this.#isStale && this.age < withinMs
  }

  /** Whoever needs the tools next has to ask. */
  markStale(): void {
    this.#isStale = true
  }

  /** The server says its tools have changed: what is being fetched may already be the past. */
  announceChange(): void {
    this.#changes++
    this.#isStale = true
  }

  /** Joins a fetch of the same source that is under way. Rejects with SallyportError; the accepted listing stays. */
  refresh(source: ListingSource): Promise<Listing> {
    let fetching = this.#fetching.get(source)
    if (!fetching) {
      fetching = this.#fetch(source).finally(() => this.#fetching.delete(source))
      this.#fetching.set(source, fetching)
    }
    return fetching
  }

  async #fetch(source: ListingSource): Promise<Listing> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const ticket = ++this.#tickets
      const changes = this.#changes
      const at = this.#options.monotonic()
      const listing = await source.list()
      if (!source.isCurrent()) throw new SallyportError('connection_changed')
      if (changes !== this.#changes) continue
      this.#accept(listing, ticket, at)
      return listing
    }
    throw new SallyportError('catalog_unverified')
  }

  /** A newer fetch that was accepted meanwhile wins. */
  #accept(listing: Listing, ticket: number, at: number): void {
    if (ticket < this.#newestAccepted) return
    this.#newestAccepted = ticket
    this.#isStale = false
    const tools = new Map(listing.tools.map(({ name, digest }) => [name, digest]))
    this.#accepted = { tools, at }
    this.#options.accepted(listing)
  }
}
