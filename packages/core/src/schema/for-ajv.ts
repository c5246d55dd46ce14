/**
 * Where ajv judges otherwise than the dialect says, a document is rewritten to a form in which it does not, or refused.
 * The document is a copy that nobody else has.
 */
import type { Dialect, SchemaObject } from './dialect.ts'
import { toPointer } from './pointer.ts'
import { badSchema, type RootKind } from './read-schema.ts'
import type { Place } from './walk.ts'

/** Members that ajv acts on and the dialect does not know. */
const foreign: Record<Dialect, readonly string[]> = {
  'draft-07': ['nullable', 'id', '$async'],
  '2019-09': ['nullable', 'id', '$async', '$dynamicRef', '$dynamicAnchor'],
  '2020-12': ['nullable', 'id', '$async', '$recursiveRef', '$recursiveAnchor'],
}

/** Throws `bad_schema`. */
export function rewriteForAjv(places: readonly Place[], dialect: Dialect, kind: RootKind): void {
  if (dialect !== 'draft-07') for (const place of places) checkUnevaluatedItems(place)
  for (const place of places) {
    removeForeign(place, dialect, kind)
    // draft-07 8.3: what stands beside a reference is ignored, a new base for references too.
    if (dialect === 'draft-07' && place.schema.$ref !== undefined) delete place.schema.$id
    detachFromTuple(place.schema)
  }
  if (dialect === 'draft-07') return
  const embeds = places.some(({ schema, steps }) => steps.length > 0 && schema.$id !== undefined)
  for (const place of places) rewriteDynamic(place, embeds)
  rewriteRootName(places)
  if (places.some(({ schema }) => schema.unevaluatedProperties !== undefined))
    for (const { schema } of places) expandIf(schema)
}

function removeForeign({ schema, steps }: Place, dialect: Dialect, kind: RootKind): void {
  for (const keyword of foreign[dialect].filter((name) => Object.hasOwn(schema, name))) {
    if (kind === 'overlay') throw badSchema(toPointer([...steps, keyword]))
    delete schema[keyword]
  }
}

/** Of an array shorter than its tuple ajv asks nothing more, so what follows is asked beside it. */
function detachFromTuple(schema: SchemaObject): void {
  if (!Array.isArray(schema['prefixItems']) && !Array.isArray(schema['items'])) return
  const following = ['contains', 'minContains', 'maxContains', 'uniqueItems'].filter((keyword) =>
    Object.hasOwn(schema, keyword),
  )
  if (following.length === 0) return
  const beside = Object.fromEntries(following.map((keyword) => [keyword, schema[keyword]]))
  for (const keyword of following) delete schema[keyword]
  schema.allOf = [...listOf(schema.allOf), beside]
}

/** As long as no other document is embedded, a dynamic reference can only mean what a plain one means. */
function rewriteDynamic({ schema, steps }: Place, embeds: boolean): void {
  for (const keyword of ['$dynamicRef', '$recursiveRef']) {
    const reference = schema[keyword]
    if (reference === undefined) continue
    if (embeds) throw badSchema(toPointer([...steps, keyword]))
    delete schema[keyword]
    if (schema.$ref === undefined) schema.$ref = reference
    else schema.allOf = [...listOf(schema.allOf), { $ref: reference }]
  }
}

/** ajv does not know the root by the name that its own anchor gives it. */
function rewriteRootName(places: readonly Place[]): void {
  const anchors = ({ schema }: Place): unknown[] => [schema['$anchor'], schema['$dynamicAnchor']]
  const [root, ...others] = places
  const elsewhere = new Set(others.flatMap(anchors))
  const names = root
    ? anchors(root).filter((name) => name !== undefined && !elsewhere.has(name))
    : []
  for (const { schema } of places)
    if (names.some((name) => schema.$ref === `#${name}`)) schema.$ref = '#'
}

/** For ajv a condition evaluates properties also where it is not fulfilled, so it is written as the choice that it is. */
function expandIf(schema: SchemaObject): void {
  const { if: condition, then: so = true, else: otherwise = true, ...rest } = schema
  if (condition === undefined) return
  for (const keyword of ['if', 'then', 'else']) delete schema[keyword]
  const choice = [{ allOf: [condition, so] }, { allOf: [{ not: condition }, otherwise] }]
  schema.allOf = [...listOf(rest.allOf), { anyOf: choice }]
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** ajv counts items from the start, but these evaluate some in the middle or depend on the branch. */
const evaluating = [
  'contains',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
]

function checkUnevaluatedItems({ schema, steps }: Place): void {
  const isRule = schema.unevaluatedItems !== undefined && schema.unevaluatedItems !== true
  if (isRule && evaluating.some((keyword) => schema[keyword] !== undefined))
    throw badSchema(toPointer([...steps, 'unevaluatedItems']))
}
