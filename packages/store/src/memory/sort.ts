import { compareText } from '../rows/text.ts'

/** Sorted by texts, the first that differ decide; in code point order. */
export function sorted<Row>(rows: readonly Row[], ...keys: ((row: Row) => string)[]): Row[] {
  return [...rows].sort((a, b) => {
    for (const key of keys) {
      const difference = compareText(key(a), key(b))
      if (difference !== 0) return difference
    }
    return 0
  })
}

/** Ids are ordered by the time they were made. */
export function newestFirst<Row extends { readonly id: string }>(rows: readonly Row[]): Row[] {
  return sorted(rows, (row) => row.id).reverse()
}
