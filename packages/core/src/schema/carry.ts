/** Takes schemas out of documents into a new one, with everything their references need. */
import type { Source } from './conjuncts.ts'
import { isSchemaObject, type SchemaObject } from './dialect.ts'
import { referenceSteps, toPointer, valueAt } from './pointer.ts'
import { subschemas } from './walk.ts'

/** Names and scopes that would mean something else in another document. */
const bound = [
  '$id',
  '$schema',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
]
const containers = ['$defs', 'definitions']

class NotPortable extends Error {}

/** The definitions of the new document: keyword → name → schema. */
export type Definitions = Record<string, SchemaObject>

/** The catalog's document keeps its definitions where and as they are; those of the others get names that are free. */
export class Carrier {
  readonly #definitions: Definitions
  readonly #taken: Set<string>

  constructor(main: SchemaObject, definitions: Definitions) {
    this.#definitions = definitions
    this.#taken = new Set(containers.flatMap((keyword) => Object.keys(main[keyword] ?? {})))
  }

  /** Takes schemas of one document; the result is undefined when what one means cannot be taken along. */
  from(source: Source): (schema: SchemaObject) => SchemaObject | undefined {
    let moved = new Map<string, readonly string[]>()
    return (schema) => {
      const move = new Move(source, new Map(moved), (name) => this.#free(name))
      try {
        const copy = move.copy(schema)
        moved = move.moved
        for (const { steps, schema } of move.definitions) this.#define(steps, schema)
        return copy
      } catch (thrown) {
        if (thrown instanceof NotPortable) return undefined
        throw thrown
      }
    }
  }

  #free(name: string): string {
    let free = name
    while (this.#taken.has(free)) free += '_'
    this.#taken.add(free)
    return free
  }

  #define([keyword = '', name = '']: readonly string[], schema: unknown): void {
    this.#definitions[keyword] = { ...this.#definitions[keyword], [name]: schema }
  }
}

/** One schema on its way; what it defines counts only when all of it could be taken. */
class Move {
  /** Pointer in the old document → steps in the new one. */
  readonly moved: Map<string, readonly string[]>
  readonly definitions: { readonly steps: readonly string[]; readonly schema: unknown }[] = []
  readonly #source: Source
  readonly #free: (name: string) => string

  constructor(
    source: Source,
    moved: Map<string, readonly string[]>,
    free: (name: string) => string,
  ) {
    this.#source = source
    this.moved = moved
    this.#free = free
  }

  copy(schema: SchemaObject): SchemaObject {
    const copy = structuredClone(schema)
    this.#rewrite(copy)
    return copy
  }

  #rewrite(schema: SchemaObject): void {
    if (bound.some((keyword) => schema[keyword] !== undefined)) throw new NotPortable()
    if (schema.$ref !== undefined) schema.$ref = referenceTo(this.#target(schema.$ref))
    for (const inner of subschemas(schema)) this.#rewrite(inner.schema)
  }

  /** A definition moves whole; any other place becomes a definition. */
  #target(reference: unknown): string[] {
    const steps = typeof reference === 'string' ? referenceSteps(reference) : undefined
    if (!steps || steps.includes('__proto__') || this.#source.embeds) throw new NotPortable()
    const isDefinition = containers.includes(steps[0] ?? '') && steps.length > 1
    const place = isDefinition ? steps.slice(0, 2) : steps
    const pointer = toPointer(place)
    const moved = this.moved.get(pointer) ?? this.#define(place, pointer, isDefinition)
    return [...moved, ...steps.slice(place.length)]
  }

  #define(place: string[], pointer: string, isDefinition: boolean): readonly string[] {
    const value = valueAt(this.#source.document, place)
    if (typeof value !== 'boolean' && !isSchemaObject(value)) throw new NotPortable()
    const staysPut = isDefinition && this.#source.index === 0
    const steps = staysPut ? place : ['$defs', this.#free(place.at(-1) ?? 'root')]
    this.moved.set(pointer, steps)
    const content = place.length === 0 && isSchemaObject(value) ? withoutDocument(value) : value
    this.definitions.push({ steps, schema: isSchemaObject(content) ? this.copy(content) : content })
    return steps
  }
}

function referenceTo(steps: readonly string[]): string {
  return `#${encodeURI(toPointer(steps)).replace(/[?#]/g, encodeURIComponent)}`
}

/** What a root has and no other place may. */
function withoutDocument({
  $schema,
  $id,
  $defs,
  definitions,
  ...rest
}: SchemaObject): SchemaObject {
  return rest
}
