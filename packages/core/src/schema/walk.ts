/** Knows where in a schema other schemas stand, in every dialect, so that property names and data are not taken for keywords. */
import { isSchemaObject, type SchemaObject } from './dialect.ts'
import { referenceSteps, valueAt } from './pointer.ts'

/** Members are schemas, under free names. */
const mapKeywords = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])
/** A schema, or a list of them. */
const schemaKeywords = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
])

export interface Place {
  readonly schema: SchemaObject
  readonly steps: readonly string[]
}

/** The schemas directly inside one, booleans left out. */
export function subschemas(schema: SchemaObject): Place[] {
  const found: Place[] = []
  const add = (value: unknown, ...steps: string[]): void => {
    if (isSchemaObject(value)) found.push({ schema: value, steps })
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (mapKeywords.has(keyword) && isSchemaObject(value))
      for (const [name, member] of Object.entries(value)) add(member, keyword, name)
    else if (schemaKeywords.has(keyword) && Array.isArray(value))
      for (const [index, item] of value.entries()) add(item, keyword, String(index))
    else if (schemaKeywords.has(keyword)) add(value, keyword)
  }
  return found
}

export const referenceKeywords = ['$ref', '$dynamicRef', '$recursiveRef'] as const

/** Every schema of a document once, also those that only a reference reaches. Needs a depth that was checked before. */
export function allSchemas(document: SchemaObject): Place[] {
  const found: Place[] = []
  const seen = new Set<SchemaObject>()
  const visit = (schema: SchemaObject, steps: readonly string[]): void => {
    if (seen.has(schema)) return
    seen.add(schema)
    found.push({ schema, steps })
    for (const inner of subschemas(schema)) visit(inner.schema, [...steps, ...inner.steps])
  }
  visit(document, [])
  for (const { schema } of found) {
    const target = typeof schema.$ref === 'string' ? referenceSteps(schema.$ref) : undefined
    const value = target && valueAt(document, target)
    if (target && isSchemaObject(value)) visit(value, target)
  }
  return found
}
