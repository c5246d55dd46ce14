import { SallyportError } from '@sallyport/protocol'

const uniqueViolation = '23505'
const lockNotAvailable = '55P03'

export function isUniqueViolation(error: unknown): boolean {
  return stateOf(error) === uniqueViolation
}

export function isLockTimeout(error: unknown): boolean {
  return stateOf(error) === lockNotAvailable
}

/**
 * What a failing statement means: a row that cannot exist twice is the caller's mistake, everything else the database's.
 * A deadlock too: locks are taken in one order, and what was done outside meanwhile cannot be done again.
 */
export function fromPostgres(error: unknown): Error {
  if (error instanceof SallyportError) return error
  return isUniqueViolation(error)
    ? new TypeError('a row with this key exists', { cause: error })
    : new SallyportError('store_unavailable', { cause: error })
}

/** SQLSTATE; undefined when the error does not come from the server. */
function stateOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
