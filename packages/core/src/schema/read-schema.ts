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
const placeLimit = 2_000
/** Characters that ajv writes for a schema, roughly. The largest of real servers come to some ten thousand. */
const codeLimit = 1_000_000

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
  if (places.length > placeLimit || codeOf(root, 100) > codeLimit) throw badSchema('')
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

/**
 * Everything it says, each as long as the way to it: whatever is compiled names its place, so that a few long names
 * above many short ones make a hundred thousand times their size. The depth was checked.
 */
function codeOf(value: unknown, way: number): number {
  if (typeof value !== 'object' || value === null) return way
  let sum = way
  for (const [name, inner] of Object.entries(value)) {
    const isList = Array.isArray(inner)
    sum += isList && name === 'enum' ? way : codeOf(inner, way + name.length + 1)
  }
  return sum
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
