/** The schemas that must all hold for the same object: a root, what its top-level `$ref` names, what its `allOf` lists. */
import { type Dialect, dialectOf, isSchemaObject, type SchemaObject } from './dialect.ts'
import { referenceSteps, valueAt } from './pointer.ts'
import { allSchemas, subschemas } from './walk.ts'

/** One document and what may be done with what stands in it. */
export interface Source {
  readonly document: SchemaObject
  readonly dialect: Dialect
  /** 0 is the catalog's. */
  readonly index: number
  /**
   * A format that only annotates is always fulfilled: where a schema is negated, that would refuse more than the
   * assertion does. So rules of such a document are not moved to where formats are annotations.
   */
  readonly formatsNegated: boolean
  /** Another document is embedded, so that what a reference means depends on where it stands. */
  readonly embeds: boolean
}

export interface Conjunct {
  readonly schema: SchemaObject
  readonly source: Source
  /** Top-level keywords whose whole meaning is in other conjuncts. */
  readonly expanded: readonly string[]
}

export function sourceOf(root: unknown, index: number): Source {
  const document = isSchemaObject(root) ? root : {}
  const places = allSchemas(document)
  const has = (...keywords: string[]): boolean =>
    places.some(({ schema }) => keywords.some((keyword) => Object.hasOwn(schema, keyword)))
  return {
    document,
    dialect: dialectOf(document) ?? '2020-12',
    index,
    formatsNegated: index > 0 && has('format') && has('not', 'if', 'oneOf', 'contains'),
    embeds: places.some(({ schema, steps }) => steps.length > 0 && schema.$id !== undefined),
  }
}

export function conjunctsOf(source: Source): Conjunct[] {
  const found: Conjunct[] = []
  const seen = new Set<SchemaObject>()
  const add = (schema: SchemaObject): void => {
    if (seen.has(schema)) return
    seen.add(schema)
    const target =
      typeof schema.$ref === 'string' && !source.embeds ? referenceSteps(schema.$ref) : undefined
    const named = target && valueAt(source.document, target)
    const isAlone = source.dialect === 'draft-07' && schema.$ref !== undefined
    const parts = isAlone || !Array.isArray(schema.allOf) ? [] : schema.allOf
    const expanded = [isSchemaObject(named) ? '$ref' : '', 'allOf']
    found.push({ schema: isAlone ? { $ref: schema.$ref } : schema, source, expanded })
    for (const part of [named, ...parts]) if (isSchemaObject(part)) add(part)
  }
  add(source.document)
  return found
}

/** Keywords that mean the same in every dialect, wherever they stand. */
const everywhere = new Set([
  ...['type', 'enum', 'const', 'multipleOf', 'pattern', 'uniqueItems', 'required', 'format'],
  ...['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'],
  ...['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'],
  ...['properties', 'patternProperties', 'additionalProperties', 'propertyNames'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'items', 'contains'],
  ...['title', 'description', 'default', 'examples', '$comment', 'readOnly', 'writeOnly'],
])

/** Does the rule, with all that is in it, mean in one dialect what it means in the other? */
export function meansTheSame(rule: SchemaObject, one: Dialect, other: Dialect): boolean {
  if (one === other) return true
  if (Object.keys(rule).some((keyword) => !everywhere.has(keyword))) return false
  return subschemas(rule).every(({ schema }) => meansTheSame(schema, one, other))
}
