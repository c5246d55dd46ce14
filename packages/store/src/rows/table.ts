/** A table is the list of its columns: how a row is kept and how it is read, once for every engine. */
import { SallyportError } from '@sallyport/protocol'
import type { Column, Scalar } from './column.ts'

export interface Shape {
  readonly name: string
  /** In the order in which rows are kept. */
  readonly columns: readonly string[]
  readonly types: readonly Column<unknown>['type'][]
}

export interface Table<Row> extends Shape {
  /** Throws TypeError for a row that could not be given back as it is. */
  keep(row: Row): Scalar[]
  /** Throws `row_unreadable`: damage is never told as "not found". */
  read(kept: readonly unknown[]): Row
}

export type Columns<Row> = { readonly [Field in keyof Row]-?: Column<Row[Field]> }

export function table<Row extends object>(name: string, columns: Columns<Row>): Table<Row> {
  const fields = Object.keys(columns) as (keyof Row & string)[]
  const list = fields.map((field) => columns[field]) as Column<unknown>[]
  return {
    name,
    columns: fields.map(snakeCase),
    types: list.map((column) => column.type),
    keep: (row) => list.map((column, i) => column.keep(row[fields[i] as keyof Row])),
    read(kept) {
      const row: Record<string, unknown> = {}
      for (let i = 0; i < list.length; i++) {
        try {
          row[fields[i] as string] = (list[i] as Column<unknown>).read(kept[i])
        } catch (error) {
          const place = `${name}.${fields[i]} of ${String(kept[0])}`
          throw new SallyportError('row_unreadable', { cause: new Error(place, { cause: error }) })
        }
      }
      return row as Row
    },
  }
}

function snakeCase(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
