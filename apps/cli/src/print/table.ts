/** Aligned text for people. Cells are escaped here, so that no command can forget it. */
import { stripVTControlCharacters } from 'node:util'
import { shownText } from './shown-text.ts'
import { paintState, type Style } from './style.ts'
import { widthOf } from './width.ts'

export type Cell = string | number | boolean | null | undefined

export const cellText = (cell: Cell): string =>
  cell === null || cell === undefined || cell === '' ? '-' : shownText(String(cell))

/** The column headed STATE is coloured by what it says. */
export function table(
  style: Style,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  const texts = rows.map((row) =>
    row.map((cell, column) =>
      head[column] === 'STATE' ? paintState(style, cellText(cell)) : cellText(cell),
    ),
  )
  return align([head.map((name) => style.dim(name)), ...texts])
}

/** One thing, a name and a value a line. What is undefined is left out. */
export function facts(style: Style, pairs: readonly (readonly [string, Cell])[]): string {
  const told = pairs.filter(([, value]) => value !== undefined)
  return align(
    told.map(([name, value]) => [
      style.dim(name),
      name === 'state' ? paintState(style, cellText(value)) : cellText(value),
    ]),
  )
}

const columnsOf = (text: string): number => widthOf(stripVTControlCharacters(text))

function align(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, columnsOf(cell))
    })
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - columnsOf(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** RFC 3339 to the second, UTC; the whole value is in the JSON. */
export function moment(time: string | null): string | null {
  return time === null ? null : time.replace(/(?:\.\d+)?Z$/, 'Z')
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}
