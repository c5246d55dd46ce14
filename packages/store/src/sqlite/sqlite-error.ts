import { SallyportError } from '@sallyport/protocol'

const primaryKeyExists = 1555
const uniqueKeyExists = 2067

export function isUniqueViolation(error: unknown): boolean {
  const code = errorNumber(error)
  return code === primaryKeyExists || code === uniqueKeyExists
}

/** What a failing statement means: a row that cannot exist twice is the caller's mistake, everything else the database's. */
export function fromSqlite(error: unknown): Error {
  if (isUniqueViolation(error)) return new TypeError('a row with this key exists', { cause: error })
  if (error instanceof Error && 'code' in error && error.code === 'ERR_OUT_OF_RANGE')
    return new SallyportError('row_unreadable', { cause: error })
  return new SallyportError('store_unavailable', { cause: error })
}

/** SQLite's extended result code. */
export function errorNumber(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? (error.errcode as number) : undefined
}
