/** The part of a root that judges properties one by one, so that some of them can be judged without the others. */
import { isSchemaObject, type SchemaObject } from './dialect.ts'
import { referenceSteps } from './pointer.ts'
import { allSchemas, referenceKeywords } from './walk.ts'

const kept = [
  '$schema',
  '$id',
  '$defs',
  'definitions',
  'properties',
  'patternProperties',
  'additionalProperties',
  'propertyNames',
]

/**
 * A catalog root without some top-level properties, for what the guest alone must send. Undefined when it has none of
 * its own to judge by; then only the whole is judged.
 */
export function shapeWithout(root: unknown, names: readonly string[]): SchemaObject | undefined {
  const shape = propertiesOf(root, names)
  if (!shape || !isSchemaObject(root)) return undefined
  const { properties, required } = root
  if (isSchemaObject(properties)) shape.properties = withoutMembers(properties, names)
  if (Array.isArray(required)) shape.required = required.filter((name) => !names.includes(name))
  return shape
}

/** The root without the rules that need all properties at once. */
export function propertiesOf(
  root: unknown,
  removed: readonly string[] = [],
): SchemaObject | undefined {
  if (!isSchemaObject(root) || !isSelfContained(root, removed)) return undefined
  return Object.fromEntries(Object.entries(root).filter(([keyword]) => kept.includes(keyword)))
}

export function withoutMembers(object: SchemaObject, names: readonly string[]): SchemaObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

/** No reference leads to the root itself, which is about to change, or to what goes. */
function isSelfContained(root: SchemaObject, removed: readonly string[]): boolean {
  return allSchemas(root).every(({ schema }) =>
    referenceKeywords.every((keyword) => {
      const reference = schema[keyword]
      if (reference === undefined) return true
      const [place, name = ''] = keyword === '$ref' ? (referenceSteps(String(reference)) ?? []) : []
      if (place === 'properties') return name !== '' && !removed.includes(name)
      return place === '$defs' || place === 'definitions'
    }),
  )
}
