import pg from 'pg'

export interface PostgresOptions {
  /** `postgresql://…`, TLS and socket folders included. */
  readonly url: string
  /** Where the tables are; made when it is missing. Default: the first of the role's search path. */
  readonly schema?: string
  /** The most connections, default 10. */
  readonly connections?: number
}

/** A change of authority, or of a row that another transaction holds, waits at most this long. */
export const changeWaitMs = 5000

/** Bounds of one statement, of a transaction whose owner stands still, and of reaching the server, in milliseconds. */
const statementMs = 30_000
const idleInTransactionMs = 30_000
const connectMs = 5000

export function connectPostgres({ url, schema, connections = 10 }: PostgresOptions): pg.Pool {
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new TypeError('a schema is named with small letters, digits and underscores')
  const settings = [
    `SET lock_timeout = ${changeWaitMs}`,
    `SET statement_timeout = ${statementMs}`,
    `SET idle_in_transaction_session_timeout = ${idleInTransactionMs}`,
    ...(schema === undefined ? [] : [`SET search_path = ${schema}`]),
  ]
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'sallyport',
    max: connections,
    connectionTimeoutMillis: connectMs,
    // Of a server that went away without a word, TCP alone tells after many minutes.
    query_timeout: statementMs + connectMs,
    keepAlive: true,
    pipeline: true,
    types: { getTypeParser },
    onConnect: (client) => {
      // Without a listener the end of an idle connection would end the process; its next use fails and is told there.
      client.on('error', () => {})
      return client.query(settings.join('; '))
    },
  })
  pool.on('error', () => {})
  return pool
}

const bigint = 20

/** What a double cannot hold stays text, and the row is unreadable. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (oid !== bigint) return pg.types.getTypeParser(oid, format)
  return (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text)
}

const names = new Map<string, string>()

/** As a statement that the server plans once for each connection; rows come as arrays. */
export function prepared(text: string, values: readonly unknown[]) {
  let name = names.get(text)
  if (name === undefined) {
    name = `sallyport_${names.size}`
    names.set(text, name)
  }
  return { name, text, values: [...values], rowMode: 'array' as const }
}
