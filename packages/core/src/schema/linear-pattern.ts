/** The engine that `pattern` and `patternProperties` run on: linear in the text, counted, never backtracking. */
import { RE2JS } from 're2js'
import { NotLinear, toRe2 } from './to-re2.ts'
import { spend } from './work.ts'

export interface LinearPattern {
  test(text: string): boolean
  /** The pattern: ajv keeps one engine for each text of this. */
  toString(): string
}

/** Instructions that the patterns of one schema may have together. */
const totalLimit = 50_000

/** For ajv's `code.regExp`. */
export interface LinearPatterns {
  /** Throws NotLinear. */
  (pattern: string): LinearPattern
  readonly code: string
}

/** Compiles each pattern once. One for each schema, because the sizes of its patterns add up. */
export function linearPatterns(): LinearPatterns {
  const compiled = new Map<string, LinearPattern>()
  let total = 0
  const compile = (pattern: string): LinearPattern => {
    const { text, size } = toRe2(pattern)
    total += size
    if (total > totalLimit) throw new NotLinear('too many')
    const program = compileRe2(text)
    const steps = program.programSize()
    return {
      test: (value) => {
        spend(steps * (value.length + 1))
        return program.test(value)
      },
      toString: () => pattern,
    }
  }
  const patterns = (pattern: string): LinearPattern => {
    const known = compiled.get(pattern) ?? compile(pattern)
    compiled.set(pattern, known)
    return known
  }
  return Object.assign(patterns, { code: 'linearPattern' })
}

function compileRe2(text: string): RE2JS {
  try {
    return RE2JS.compile(text)
  } catch {
    throw new NotLinear('not in RE2')
  }
}
