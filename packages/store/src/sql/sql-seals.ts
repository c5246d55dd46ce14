import {
  type SealReads,
  type SealWrites,
  type StoredSeal,
  type StoredSealKind,
  webhookPlace,
} from '@sallyport/core'
import { integer, text } from '../rows/column.ts'
import { table } from '../rows/table.ts'
import type { SqlReader, SqlWriter } from './driver.ts'

/** What `page` selects. */
interface Found {
  readonly row: string
  readonly id: string
  readonly scope: string
  readonly version: number
  readonly seal: string
}

const found = table<Found>('seals', {
  row: text(),
  id: text(),
  scope: text(),
  version: integer(),
  seal: text(),
})

const pages: Record<StoredSealKind, string> = {
  endpoint: `SELECT id, id, scope, revision, endpoint_seal FROM connections
    WHERE endpoint_seal IS NOT NULL AND id > $1 ORDER BY id LIMIT $2`,
  credential: `SELECT credentials.id, credentials.id, connections.scope, credentials.version, credentials.seal
    FROM credentials
    JOIN connections ON connections.id = credentials.connection_id
    WHERE credentials.seal <> '' AND credentials.id > $1 ORDER BY credentials.id LIMIT $2`,
  webhook: `SELECT id, id, '${webhookPlace.scope}', ${webhookPlace.version}, seal FROM webhooks
    WHERE id > $1 ORDER BY id LIMIT $2`,
  oauth_client: `SELECT id, id, scope, version, seal FROM oauth_clients
    WHERE seal <> '' AND id > $1 ORDER BY id LIMIT $2`,
  oauth_pending: `SELECT oauth_flows.id, connection_id, connections.scope, connection_revision, pending
    FROM oauth_flows JOIN connections ON connections.id = oauth_flows.connection_id
    WHERE pending <> '' AND oauth_flows.id > $1 ORDER BY oauth_flows.id LIMIT $2`,
}

/** The version of a connection counts its changes, that of a credential is named in its seal. */
const replacements: Record<StoredSealKind, string> = {
  endpoint:
    'UPDATE connections SET endpoint_seal = $3, version = version + 1 WHERE id = $1 AND endpoint_seal = $2',
  credential: 'UPDATE credentials SET seal = $3 WHERE id = $1 AND seal = $2',
  webhook: 'UPDATE webhooks SET seal = $3 WHERE id = $1 AND seal = $2',
  oauth_client: 'UPDATE oauth_clients SET seal = $3 WHERE id = $1 AND seal = $2',
  oauth_pending: 'UPDATE oauth_flows SET pending = $3 WHERE id = $1 AND pending = $2',
}

export class SqlSealReads implements SealReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  async page(kind: StoredSealKind, after: string, limit: number): Promise<StoredSeal[]> {
    const rows = await this.#db.rows(pages[kind], [after, limit])
    return rows
      .map(found.read)
      .map(({ row, seal, ...place }) => ({ row, place: { kind, ...place }, seal }))
  }
}

export class SqlSealWrites extends SqlSealReads implements SealWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async replace({ row, place, seal }: StoredSeal, by: string): Promise<boolean> {
    return (await this.#tx.run(replacements[place.kind], [row, seal, by])) === 1
  }
}
