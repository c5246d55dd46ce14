import type { ErrorObject } from 'ajv'
import { toPointer } from './pointer.ts'

/** Why a value does not fit a schema. Both texts are bounded. */
export interface SchemaProblem {
  /** JSON pointer; of what is missing or not known, the pointer of that property. */
  readonly path: string
  /** A static reason with the rule's own values, never a value of the guest. */
  readonly detail: string
}

const pathLimit = 300
const detailLimit = 200

export function problem(path: string, detail: string): SchemaProblem {
  return { path: bounded(path, pathLimit), detail: bounded(detail, detailLimit) }
}

export function bounded(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`
}

/** Of the errors of one failed check, in ajv's order: those of branches before the keyword that tried them. */
export function problemOf(errors: readonly ErrorObject[]): SchemaProblem {
  const error = decisive(errors)
  const { instancePath, keyword, params } = error
  const { missingProperty, additionalProperty, unevaluatedProperty, propertyName } = params
  const at = (property: string, detail: string): SchemaProblem =>
    problem(instancePath + toPointer([property]), detail)
  if (missingProperty !== undefined) return at(missingProperty, 'is required')
  if (additionalProperty !== undefined) return at(additionalProperty, 'is not known')
  if (unevaluatedProperty !== undefined) return at(unevaluatedProperty, 'is not known')
  if (keyword === 'propertyNames') return at(propertyName, 'has a name that is not allowed')
  return problem(instancePath, describe(error))
}

/** The keyword that refused; of several forms, the one that the value's type chose. */
function decisive(errors: readonly ErrorObject[]): ErrorObject {
  let at = errors.length - 1
  while (at > 0 && errors[at]?.keyword === 'if') at--
  const last = errors[at] as ErrorObject
  if (last.keyword !== 'anyOf' && last.keyword !== 'oneOf') return last
  const close = errors
    .slice(0, at)
    .filter(({ keyword, instancePath }) => keyword !== 'type' || instancePath !== last.instancePath)
  return close.length === 1 ? (close[0] as ErrorObject) : last
}

const limits: Record<string, readonly [before: string, after: string]> = {
  minimum: ['at least', ''],
  maximum: ['at most', ''],
  exclusiveMinimum: ['more than', ''],
  exclusiveMaximum: ['less than', ''],
  minLength: ['at least', ' characters long'],
  maxLength: ['at most', ' characters long'],
}
const counts: Record<string, readonly [before: string, after: string]> = {
  minItems: ['at least', 'items'],
  maxItems: ['at most', 'items'],
  minProperties: ['at least', 'properties'],
  maxProperties: ['at most', 'properties'],
}

function describe({ keyword, schema, params: { limit: most, len } }: ErrorObject): string {
  const limit = limits[keyword]
  if (limit) return `must be ${limit[0]} ${schema}${limit[1]}`
  const count = counts[keyword]
  if (count) return `must have ${count[0]} ${schema} ${count[1]}`
  switch (keyword) {
    case 'type':
      return `must be ${[schema].flat().join(' or ')}`
    case 'enum':
      return `must be one of ${(schema as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(schema)}`
    case 'pattern':
      return `must match the pattern ${schema}`
    case 'format':
      return `must be a ${schema}`
    case 'multipleOf':
      return `must be a multiple of ${schema}`
    case 'uniqueItems':
      return 'must not hold the same item twice'
    case 'items':
    case 'additionalItems':
    case 'unevaluatedItems':
      return `must have at most ${most ?? len} items`
    case 'contains':
      return 'does not hold the items that it must'
    case 'anyOf':
      return 'must fit one of the forms of the schema'
    case 'oneOf':
      return 'must fit exactly one of the forms of the schema'
    case 'not':
    case 'false schema':
      return 'is not allowed'
    default:
      return 'does not fit the schema'
  }
}
