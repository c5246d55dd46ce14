import type { CatalogId, ConnectionId } from '@sallyport/protocol'
import type { Catalog, CatalogState, CatalogTool } from './catalog.ts'

export interface CatalogReads {
  get(id: CatalogId): Promise<Catalog | undefined>
  /** Newest first, without tools. */
  ofConnection(connectionId: ConnectionId): Promise<Catalog[]>
  /** By name (code point order); empty when there is no such catalog. */
  tools(id: CatalogId): Promise<CatalogTool[]>
  tool(id: CatalogId, name: string): Promise<CatalogTool | undefined>
}

export interface CatalogWrites extends CatalogReads {
  insert(catalog: Catalog, tools: readonly CatalogTool[]): Promise<void>
  /**
   * Replaces the row, not its tools, when its version still is `expectedVersion`; false when it moved.
   * `catalog.version` must be greater. A second catalog of a connection with the same number is refused (false).
   */
  update(catalog: Catalog, expectedVersion: number): Promise<boolean>
  /**
   * Changes access, decision and note of tools of a catalog in one of `from`; throws `conflict` in any other state:
   * what was published is never edited.
   */
  decide(
    id: CatalogId,
    from: readonly CatalogState[],
    tools: readonly Pick<CatalogTool, 'name' | 'access' | 'decision' | 'note'>[],
  ): Promise<void>
}
