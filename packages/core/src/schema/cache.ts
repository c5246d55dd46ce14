import { type CompiledRoot, compileRoot } from './compile.ts'
import type { RootKind } from './read-schema.ts'

/**
 * Compiled roots by digest, the least recently used dropped first. What is handed out holds the schema, not its code:
 * it compiles at first use, and again after it was dropped, so that however many tools are bound the memory is bounded.
 */
export class SchemaCache {
  readonly #limit: number
  readonly #compiled = new Map<string, CompiledRoot>()

  constructor(limit = 1000) {
    this.#limit = limit
  }

  /** `digest` is of the schema. A schema that cannot be enforced throws `bad_schema` when it is first checked with. */
  root(kind: RootKind, digest: string, schema: unknown): CompiledRoot {
    const key = `${kind} ${digest}`
    return { check: (value) => this.#get(key, kind, schema).check(value) }
  }

  #get(key: string, kind: RootKind, schema: unknown): CompiledRoot {
    const known = this.#compiled.get(key)
    // As long as there is plenty of room, it does not matter which was used last.
    if (known && this.#compiled.size <= this.#limit / 2) return known
    const root = known ?? compileRoot(schema, kind)
    this.#compiled.delete(key)
    this.#compiled.set(key, root)
    const [oldest] = this.#compiled.keys()
    if (this.#compiled.size > this.#limit && oldest !== undefined) this.#compiled.delete(oldest)
    return root
  }
}
