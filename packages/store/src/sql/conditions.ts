import type { Scalar } from '../rows/column.ts'

/** `WHERE` of the columns that have a value, with their parameters. */
export function where(columns: Record<string, Scalar | undefined>): {
  text: string
  params: Scalar[]
} {
  const params: Scalar[] = []
  const terms: string[] = []
  for (const [column, value] of Object.entries(columns)) {
    if (value === undefined) continue
    params.push(value)
    terms.push(`${column} = $${params.length}`)
  }
  return { text: terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`, params }
}
