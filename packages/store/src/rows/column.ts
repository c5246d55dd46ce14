/** How one field of a row is kept: a scalar in the database, a typed value outside. */
import { type ErrorCode, isErrorCode } from '@sallyport/protocol'
import { freeze, keepJson, readJson } from './json.ts'
import { keepText, readText } from './text.ts'

export type Scalar = string | number | Uint8Array | null

export interface Column<T> {
  readonly type: 'text' | 'integer' | 'real' | 'bytes'
  /** Throws TypeError for a value that could not be given back as it is. */
  keep(value: T): Scalar
  /** Throws for what `keep` never makes. */
  read(kept: unknown): T
}

export function text<T extends string = string>(): Column<T> {
  return { type: 'text', keep: keepText, read: (kept) => readText(kept) as T }
}

export function oneOf<const T extends string>(values: readonly T[]): Column<T> {
  const known = new Set<unknown>(values)
  const check = (value: unknown): T => {
    if (!known.has(value)) throw new TypeError('not one of the known values')
    return value as T
  }
  return { type: 'text', keep: check, read: check }
}

export function errorCode(): Column<ErrorCode> {
  const check = (value: unknown): ErrorCode => {
    if (!isErrorCode(value)) throw new TypeError('not an error code')
    return value
  }
  return { type: 'text', keep: check, read: check }
}

/** A count, a version, or a time in milliseconds since 1970. */
export function integer(): Column<number> {
  const check = (value: unknown): number => {
    if (!Number.isSafeInteger(value)) throw new TypeError('not an integer that a double can hold')
    return (value as number) + 0
  }
  return { type: 'integer', keep: check, read: check }
}

export function real(): Column<number> {
  const check = (value: unknown): number => {
    if (!Number.isFinite(value)) throw new TypeError('not a number')
    return (value as number) + 0
  }
  return { type: 'real', keep: check, read: check }
}

export function flag(): Column<boolean> {
  return {
    type: 'integer',
    keep: (value) => (value ? 1 : 0),
    read: (kept) => {
      if (kept !== 0 && kept !== 1) throw new TypeError('not 0 or 1')
      return kept === 1
    },
  }
}

/** Engines give their own kinds of it (a Buffer), which compare as unequal: what is read is a copy. */
export function bytes(): Column<Uint8Array> {
  const check = (value: unknown): Uint8Array => {
    if (!(value instanceof Uint8Array)) throw new TypeError('not bytes')
    return value
  }
  return { type: 'bytes', keep: check, read: (kept) => new Uint8Array(check(kept)) }
}

/** `interpret` throws for what does not belong here, so that damage is never read as an empty rule. */
export function json<T = unknown>(
  interpret: (value: unknown) => T = (value) => value as T,
): Column<T> {
  const interpreted = new WeakMap<object, T>()
  return {
    type: 'text',
    keep: keepJson,
    read: (kept) => {
      if (typeof kept !== 'string') throw new TypeError('not a JSON text')
      const value = readJson(kept)
      if (value === null || typeof value !== 'object') return interpret(value)
      let result = interpreted.get(value)
      if (result === undefined) {
        result = freeze(interpret(value))
        interpreted.set(value, result)
      }
      return result
    },
  }
}

export function object<T extends object>(): Column<T> {
  return json((value) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new TypeError('not an object')
    return value as T
  })
}

export function list<T>(): Column<readonly T[]> {
  return json((value) => {
    if (!Array.isArray(value)) throw new TypeError('not a list')
    return value
  })
}

export function orNull<T>(column: Column<T>): Column<T | null> {
  return {
    type: column.type,
    keep: (value) => (value === null ? null : column.keep(value)),
    read: (kept) => (kept === null ? null : column.read(kept)),
  }
}
