/** Folds one rule about a value into a schema for it, so that the result asks for both. */
import { canonicalJson } from '@sallyport/protocol'
import type { SchemaObject } from './dialect.ts'

/**
 * `schema` false: no value fits both. `rest`: what was left out because `foldsRest` is false; the result then asks for
 * less than both.
 */
export interface Folded {
  readonly schema: SchemaObject | false
  readonly rest: SchemaObject | undefined
}

const lowerBounds = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const upperBounds = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
/** Written into the schema when it says nothing of the kind, left when it says the same. */
const single = ['pattern', 'format', 'multipleOf']
const annotations = [
  'title',
  'examples',
  '$comment',
  '$defs',
  'definitions',
  'deprecated',
  'readOnly',
  'writeOnly',
]

export function fold(base: SchemaObject, rule: SchemaObject, foldsRest: boolean): Folded {
  const schema = { ...base }
  const rest: SchemaObject = {}
  for (const [keyword, value] of Object.entries(rule)) {
    if (annotations.includes(keyword)) continue
    if (keyword === 'description') schema.description = sentences(base.description, value)
    else if (keyword === 'default') schema.default = value
    else if (keyword === 'uniqueItems')
      schema['uniqueItems'] = base['uniqueItems'] === true || value
    else if (keyword === 'required') schema.required = union(base.required, value)
    else if (lowerBounds.includes(keyword)) schema[keyword] = bound(Math.max, base[keyword], value)
    else if (upperBounds.includes(keyword)) schema[keyword] = bound(Math.min, base[keyword], value)
    else if (single.includes(keyword) && (base[keyword] ?? value) === value) schema[keyword] = value
    else if (!['type', 'enum', 'const'].includes(keyword)) rest[keyword] = value
  }
  if (!foldType(schema, rule) || !foldValues(schema, rule))
    return { schema: false, rest: undefined }
  if (Object.keys(rest).length === 0) return { schema, rest: undefined }
  if (!foldsRest) return { schema, rest }
  return { schema: { ...schema, allOf: [...list(base.allOf), rest] }, rest: undefined }
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function sentences(...texts: unknown[]): string {
  return texts.filter((text) => typeof text === 'string' && text !== '').join(' ')
}

function union(one: unknown, other: unknown): unknown[] {
  return [...new Set([...list(one), ...list(other)])]
}

function bound(pick: (a: number, b: number) => number, one: unknown, other: unknown): number {
  return typeof one === 'number' ? pick(one, other as number) : (other as number)
}

/** Intersects types; false when nothing is left. */
function foldType(schema: SchemaObject, rule: SchemaObject): boolean {
  if (rule.type === undefined) return true
  if (schema.type === undefined) {
    schema.type = rule.type
    return true
  }
  const types = [schema.type].flat()
  const common = [rule.type].flat().flatMap((type) => {
    if (types.includes(type)) return [type]
    const isInteger =
      (type === 'integer' && types.includes('number')) ||
      (type === 'number' && types.includes('integer'))
    return isInteger ? ['integer'] : []
  })
  const both = [...new Set(common)]
  schema.type = both.length === 1 ? both[0] : both
  return both.length > 0
}

/** Intersects `enum` and `const`; false when nothing is left. */
function foldValues(schema: SchemaObject, rule: SchemaObject): boolean {
  const ours = valuesOf(schema)
  const theirs = valuesOf(rule)
  if (!theirs) return true
  const known = ours && new Set(ours.map(canonicalJson))
  const both = known ? theirs.filter((value) => known.has(canonicalJson(value))) : theirs
  const isConstant = Object.hasOwn(schema, 'const') || Object.hasOwn(rule, 'const')
  delete schema.enum
  delete schema.const
  if (isConstant) schema.const = both[0]
  else schema.enum = both
  const preset = schema.default
  if (preset !== undefined && !both.some((value) => canonicalJson(value) === canonicalJson(preset)))
    delete schema.default
  return both.length > 0
}

/** The values a schema lists, or undefined when it lists none. */
function valuesOf(schema: SchemaObject): unknown[] | undefined {
  const constant = Object.hasOwn(schema, 'const') ? [schema.const] : undefined
  if (!Array.isArray(schema.enum)) return constant
  if (!constant) return schema.enum
  return schema.enum.filter((value) => canonicalJson(value) === canonicalJson(constant[0]))
}
