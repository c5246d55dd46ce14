import type { Authority, AuthorityRefs, Setting } from '@sallyport/core'
import {
  type AuthorityKind,
  type AuthorityRow,
  authorityTables,
  barrierStatements,
  type KindStatements,
  pauseForBarrier,
  readPause,
} from '../sql/authority.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

const limit = 1000
const pauseTable = 'settings'
const pauseStatement = pauseForBarrier()

/**
 * The rows that decide about calls: every barrier asks for them, and they seldom change. What was read stays true until
 * something is written into its table; a transaction that has written into one reads it itself, and nothing of that is
 * kept.
 */
export class RememberedAuthority {
  readonly #connection: SqliteConnection
  readonly #kinds: readonly Kind[] = barrierStatements().map((statements) => ({
    ...statements,
    read: (kept) => Object.freeze(authorityTables[statements.kind].read(kept)),
    rows: new Map(),
  }))
  #pause: { readonly setting: Setting | undefined } | undefined
  #version: unknown

  constructor(connection: SqliteConnection) {
    this.#connection = connection
  }

  /** In the transaction that is open. */
  read(refs: AuthorityRefs, now: number): Authority {
    this.#lookForOthers()
    const found = { now, pause: this.#readPause(), busy: nothing } as Record<string, unknown>
    for (const kind of this.#kinds) found[kind.kind] = this.#readKind(kind, refs[kind.kind])
    return found as unknown as Authority
  }

  /** A transaction that wrote into these tables has ended. */
  forget(tables: ReadonlySet<string>): void {
    if (tables.has(pauseTable)) this.#pause = undefined
    for (const { table, rows } of this.#kinds) if (tables.has(table)) rows.clear()
  }

  /** No other program writes into the file while we have its folder; were one to do it, it is seen here. */
  #lookForOthers(): void {
    const [row] = this.#connection.rows('PRAGMA data_version', [])
    const version = row?.[0]
    if (version !== this.#version) {
      this.#pause = undefined
      for (const { rows } of this.#kinds) rows.clear()
    }
    this.#version = version
  }

  #readPause(): Setting | undefined {
    const isOwn = this.#connection.wrote.has(pauseTable)
    if (this.#pause && !isOwn) return this.#pause.setting
    const setting = readPause(this.#connection.rows(pauseStatement, [])[0])
    if (!isOwn) this.#pause = { setting }
    return setting
  }

  #readKind(
    { lock, table, read, rows }: Kind,
    ids: AuthorityRefs[AuthorityKind],
  ): ReadonlyMap<string, AuthorityRow> {
    const isOwn = this.#connection.wrote.has(table)
    const missing = isOwn ? ids : ids.filter((id) => !rows.has(id))
    const fresh = missing.length === 0 ? [] : this.#connection.rows(lock, [missing]).map(read)
    if (isOwn) return new Map(fresh.map((row) => [row.id, row]))
    const result = new Map<string, AuthorityRow>(fresh.map((row) => [row.id, row]))
    for (const id of ids) {
      const known = rows.get(id)
      if (known) result.set(id, known)
    }
    if (rows.size + fresh.length > limit) rows.clear()
    for (const row of fresh) rows.set(row.id, row)
    return result
  }
}

interface Kind extends KindStatements {
  readonly read: (kept: readonly unknown[]) => AuthorityRow
  readonly rows: Map<string, AuthorityRow>
}

const nothing: ReadonlySet<string> = new Set()
