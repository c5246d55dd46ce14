import type { Catalog, CatalogState, CatalogTool, CatalogWrites } from '@sallyport/core'
import { type CatalogId, type ConnectionId, SallyportError } from '@sallyport/protocol'
import { mustRaise } from '../rows/version.ts'
import { type MemoryRows, putNew } from './memory-rows.ts'
import type { ToolsOfCatalog } from './memory-tables.ts'
import { newestFirst, sorted } from './sort.ts'

export class MemoryCatalogs implements CatalogWrites {
  readonly #catalogs: MemoryRows<Catalog>
  readonly #tools: MemoryRows<ToolsOfCatalog>

  constructor(rows: { catalogs: MemoryRows<Catalog>; catalogTools: MemoryRows<ToolsOfCatalog> }) {
    this.#catalogs = rows.catalogs
    this.#tools = rows.catalogTools
  }

  async get(id: CatalogId): Promise<Catalog | undefined> {
    return this.#catalogs.get(id)
  }

  async ofConnection(connectionId: ConnectionId): Promise<Catalog[]> {
    const all = this.#catalogs.all()
    return newestFirst(all.filter((catalog) => catalog.connectionId === connectionId))
  }

  async tools(id: CatalogId): Promise<CatalogTool[]> {
    return sorted(this.#tools.get(id)?.tools ?? [], ({ name }) => name)
  }

  async tool(id: CatalogId, name: string): Promise<CatalogTool | undefined> {
    return this.#tools.get(id)?.tools.find((tool) => tool.name === name)
  }

  async insert(catalog: Catalog, tools: readonly CatalogTool[]): Promise<void> {
    if (this.#numberIsTaken(catalog) || new Set(tools.map(({ name }) => name)).size < tools.length)
      this.#catalogs.collide()
    putNew(this.#catalogs, catalog.id, catalog)
    this.#tools.put({ catalogId: catalog.id, tools })
  }

  async update(catalog: Catalog, expectedVersion: number): Promise<boolean> {
    mustRaise(catalog.version, expectedVersion)
    if (this.#catalogs.get(catalog.id)?.version !== expectedVersion) return false
    if (this.#numberIsTaken(catalog)) return false
    this.#catalogs.put(catalog)
    return true
  }

  async decide(
    id: CatalogId,
    from: readonly CatalogState[],
    decisions: readonly Pick<CatalogTool, 'name' | 'access' | 'decision' | 'note'>[],
  ): Promise<void> {
    const catalog = this.#catalogs.get(id)
    if (!catalog || !from.includes(catalog.state)) throw new SallyportError('conflict')
    const tools = new Map(this.#tools.get(id)?.tools.map((tool) => [tool.name, tool]))
    for (const { name, access, decision, note } of decisions) {
      const tool = tools.get(name)
      if (!tool) throw new TypeError('a decision about a tool that the catalog does not have')
      tools.set(name, { ...tool, access, decision, note })
    }
    this.#tools.put({ catalogId: id, tools: [...tools.values()] })
  }

  #numberIsTaken({ id, connectionId, number }: Catalog): boolean {
    return this.#catalogs
      .all()
      .some(
        (other) =>
          number !== null &&
          other.number === number &&
          other.connectionId === connectionId &&
          other.id !== id,
      )
  }
}
