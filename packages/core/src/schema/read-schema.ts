/** What a document must be before it is compiled: bounded, of a dialect we have, closed in itself. */
import { canonicalJson, maxDepth, SallyportError } from '@sallyport/protocol'
import { type Dialect, dialectOf, isSchemaObject, type SchemaObject } from './dialect.ts'
import { referenceSteps, toPointer, valueAt } from './pointer.ts'
import { allSchemas, type Place, referenceKeywords } from './walk.ts'

/** `catalog`: what it does not know is an annotation. `overlay`: that is an error, and formats are asserted. */
export type RootKind = 'catalog' | 'overlay'

export interface Document {
  readonly dialect: Dialect
  /** A copy of its own, without `$schema`. */
  readonly root: SchemaObject
  readonly places: readonly Place[]
}

const schemaByteLimit = 256 * 1024

export function badSchema(field: string, cause?: unknown): SallyportError {
  return new SallyportError('bad_schema', { field, cause })
}

/** Throws `bad_schema` with the JSON pointer of the place. */
export function readSchema(schema: unknown, kind: RootKind): Document {
  if (!isSchemaObject(schema) || isDeep(schema)) throw badSchema('')
  const root = copyOf(schema)
  const dialect = dialectOf(root)
  if (!dialect || (kind === 'overlay' && dialect !== '2020-12')) throw badSchema('/$schema')
  const places = allSchemas(root)
  for (const { schema, steps } of places)
    if (schema.$schema !== undefined && dialectOf(schema) !== dialect)
      throw badSchema(toPointer([...steps, '$schema']))
  checkReferences(root, places)
  delete root.$schema
  return { dialect, root, places }
}

/** Without recursion: the depth is not known to be bounded yet. */
function isDeep(schema: unknown): boolean {
  let level: unknown[] = [schema]
  for (let depth = 0; depth <= maxDepth; depth++) {
    level = level.flatMap((value) =>
      typeof value === 'object' && value ? Object.values(value) : [],
    )
    if (level.length === 0) return false
  }
  return true
}

function copyOf(schema: unknown): SchemaObject {
  let text: string
  try {
    text = canonicalJson(schema)
  } catch (cause) {
    throw badSchema('', cause)
  }
  if (Buffer.byteLength(text) > schemaByteLimit) throw badSchema('')
  return JSON.parse(text)
}

function checkReferences(root: SchemaObject, places: readonly Place[]): void {
  const named = places.some(({ schema }) => typeof schema.$id === 'string')
  for (const { schema, steps } of places) {
    for (const keyword of referenceKeywords) {
      const reference = schema[keyword]
      if (typeof reference !== 'string') continue
      const target = referenceSteps(reference)
      // With names inside, what a reference means depends on where it stands: ajv resolves those, within the document.
      const missing = target ? valueAt(root, target) === undefined : !reference.startsWith('#')
      if (missing && !named) throw badSchema(toPointer([...steps, keyword]))
    }
  }
}
