/** The dialects of JSON Schema that can be enforced, and what is told by `$schema` about them. */
export const dialects = ['draft-07', '2019-09', '2020-12'] as const
export type Dialect = (typeof dialects)[number]

/** JSON with keywords in it; only those that are asked for by name are listed. */
export interface SchemaObject {
  [keyword: string]: unknown
  $schema?: unknown
  $id?: unknown
  $ref?: unknown
  type?: unknown
  properties?: unknown
  required?: unknown
  additionalProperties?: unknown
  patternProperties?: unknown
  pattern?: unknown
  enum?: unknown
  const?: unknown
  format?: unknown
  allOf?: unknown
  unevaluatedProperties?: unknown
  unevaluatedItems?: unknown
  if?: unknown
  else?: unknown
  default?: unknown
  description?: unknown
}

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const byName = new Map<string, Dialect>([
  ['json-schema.org/draft-07/schema', 'draft-07'],
  ['json-schema.org/draft/2019-09/schema', '2019-09'],
  ['json-schema.org/draft/2020-12/schema', '2020-12'],
])

/** Undefined when `$schema` names anything else; 2020-12 when there is none. */
export function dialectOf(schema: unknown): Dialect | undefined {
  if (!isSchemaObject(schema) || schema.$schema === undefined) return '2020-12'
  const { $schema } = schema
  if (typeof $schema !== 'string') return undefined
  return byName.get($schema.replace(/^https?:\/\//, '').replace(/#$/, ''))
}
