/** Texts of statements, from the columns of a table. */
import type { Shape, Table } from '../rows/table.ts'
import type { Kept, Param, SqlReader } from './driver.ts'

export function select(shape: Shape, rest: string): string {
  return `SELECT ${shape.columns.join(', ')} FROM ${shape.name} ${rest}`
}

export function insert(shape: Shape, rest = ''): string {
  return `INSERT INTO ${shape.name} (${shape.columns.join(', ')}) VALUES (${placeholders(shape)}) ${rest}`
}

/** Sets every column of the row with the id `$1`; the next free parameter is one more than there are columns. */
export function replace(shape: Shape, guard: string): string {
  const [key, ...others] = shape.columns
  const assignments = others.map((column, i) => `${column} = $${i + 2}`)
  return `UPDATE ${shape.name} SET ${assignments.join(', ')} WHERE ${key} = $1 AND ${guard}`
}

export function placeholders(shape: Shape): string {
  return shape.columns.map((_, i) => `$${i + 1}`).join(', ')
}

export async function readOne<Row>(
  db: SqlReader,
  table: Table<Row>,
  sql: string,
  params: readonly Param[],
): Promise<Row | undefined> {
  const [kept] = await db.rows(sql, params)
  return kept && table.read(kept)
}

export async function readAll<Row>(
  db: SqlReader,
  table: Table<Row>,
  sql: string,
  params: readonly Param[],
): Promise<Row[]> {
  return (await db.rows(sql, params)).map(table.read)
}

export async function count(db: SqlReader, sql: string, params: readonly Param[]): Promise<number> {
  const [row] = (await db.rows(sql, params)) as [Kept]
  return Number(row[0])
}

/** Builds a text once for each shape: they are long, and every call needs them. */
export function perShape<S extends Shape>(build: (shape: S) => string): (shape: S) => string {
  const texts = new WeakMap<S, string>()
  return (shape) => {
    let text = texts.get(shape)
    if (text === undefined) {
      text = build(shape)
      texts.set(shape, text)
    }
    return text
  }
}
