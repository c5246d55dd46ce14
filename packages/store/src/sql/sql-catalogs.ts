import type {
  Catalog,
  CatalogReads,
  CatalogState,
  CatalogTool,
  CatalogWrites,
} from '@sallyport/core'
import { type CatalogId, type ConnectionId, SallyportError } from '@sallyport/protocol'
import type { Shape } from '../rows/table.ts'
import { catalogs, catalogTools } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import { mustRaise } from '../rows/version.ts'
import type { SqlReader, SqlWriter, Update } from './driver.ts'
import { insert, readAll, readOne, replace, select } from './statements.ts'

const byId = select(catalogs, 'WHERE id = $1')
const ofConnection = select(catalogs, 'WHERE connection_id = $1 ORDER BY id DESC')
const toolsOf = select(catalogTools, 'WHERE catalog_id = $1 ORDER BY name')
const toolOf = select(catalogTools, 'WHERE catalog_id = $1 AND name = $2')
const insertCatalog = insert(catalogs)
const replaceVersion = replace(catalogs, `version = $${catalogs.columns.length + 1}`)
const stateForChange = 'SELECT state FROM catalogs WHERE id = $1 FOR NO KEY UPDATE'

const toolsWithCatalog: Shape = {
  name: catalogTools.name,
  columns: ['catalog_id', ...catalogTools.columns],
  types: ['text', ...catalogTools.types],
}
const decisions: Update = {
  name: catalogTools.name,
  columns: ['catalog_id', 'name', 'access', 'decision', 'note'],
  types: ['text', 'text', 'text', 'text', 'text'],
  keys: 2,
}

export class SqlCatalogReads implements CatalogReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: CatalogId): Promise<Catalog | undefined> {
    return readOne(this.#db, catalogs, byId, [id])
  }

  ofConnection(connectionId: ConnectionId): Promise<Catalog[]> {
    return readAll(this.#db, catalogs, ofConnection, [connectionId])
  }

  tools(id: CatalogId): Promise<CatalogTool[]> {
    return readAll(this.#db, catalogTools, toolsOf, [id])
  }

  tool(id: CatalogId, name: string): Promise<CatalogTool | undefined> {
    return readOne(this.#db, catalogTools, toolOf, [id, keepText(name)])
  }
}

export class SqlCatalogWrites extends SqlCatalogReads implements CatalogWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(catalog: Catalog, tools: readonly CatalogTool[]): Promise<void> {
    const rows = tools.map((tool) => [catalog.id, ...catalogTools.keep(tool)])
    await this.#tx.run(insertCatalog, catalogs.keep(catalog))
    await this.#tx.insertAll(toolsWithCatalog, rows)
  }

  async update(catalog: Catalog, expectedVersion: number): Promise<boolean> {
    mustRaise(catalog.version, expectedVersion)
    const kept = catalogs.keep(catalog)
    return (await this.#tx.attempt(replaceVersion, [...kept, expectedVersion])) === 1
  }

  async decide(
    id: CatalogId,
    from: readonly CatalogState[],
    tools: readonly Pick<CatalogTool, 'name' | 'access' | 'decision' | 'note'>[],
  ): Promise<void> {
    const [row] = await this.#tx.rows(stateForChange, [id])
    if (!row || !from.includes(row[0] as CatalogState)) throw new SallyportError('conflict')
    const rows = tools.map(({ name, access, decision, note }) => [
      id,
      keepText(name),
      access,
      decision,
      note === null ? null : keepText(note),
    ])
    if ((await this.#tx.updateAll(decisions, rows)) !== rows.length)
      throw new TypeError('a decision about a tool that the catalog does not have')
  }
}
