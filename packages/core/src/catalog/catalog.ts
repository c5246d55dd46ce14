/** The reviewed, immutable, numbered list of a connection's tools. Annotations are hints to the reviewer, never authority. */
import type { accesses, CatalogId, ConnectionId, catalogStates, UserId } from '@sallyport/protocol'

export type CatalogState = (typeof catalogStates)[number]
export type Access = (typeof accesses)[number]

export interface Catalog {
  readonly id: CatalogId
  readonly connectionId: ConnectionId
  readonly connectionRevision: number
  /** Set when published; counts up per connection. */
  readonly number: number | null
  readonly state: CatalogState
  readonly version: number
  readonly era: 'modern' | 'legacy'
  readonly protocolVersion: string
  readonly serverInfo: unknown
  /** Of the listing. */
  readonly digest: string
  readonly discoveredAt: number
  readonly discoveredBy: UserId
  readonly reviewedBy: UserId | null
  readonly publishedBy: UserId | null
  readonly publishedAt: number | null
}

/** What attackers use, found by a machine. Informs the reviewer; decides nothing. */
export interface Flag {
  readonly kind: string
  readonly where: string
  readonly text: string
}

export interface CatalogTool {
  /** The upstream's name. */
  readonly name: string
  /** What the guest sees: `[A-Za-z0-9_-]`. */
  readonly exposedName: string
  readonly title: string | null
  readonly description: string | null
  readonly inputSchema: unknown
  readonly outputSchema: unknown
  readonly annotations: unknown
  readonly digest: string
  readonly access: Access
  readonly decision: 'include' | 'exclude'
  readonly note: string | null
  readonly flags: readonly Flag[]
  /** Why it can never be included (its schema cannot be enforced), or null. */
  readonly refusedBecause: string | null
}
