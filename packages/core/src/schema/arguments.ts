/** From what the guest sent to what is digested, approved, journalled, signed and sent. */
import { canonicalJson, type Inexact, parseExact, SallyportError } from '@sallyport/protocol'
import { digestOf } from '@sallyport/protocol/node'
import type { ArgumentProblem } from '../call/toolset.ts'
import type { SchemaCache } from './cache.ts'
import { type CompiledRoot, compileRoot } from './compile.ts'
import { isSchemaObject } from './dialect.ts'
import { fromPointer, toPointer } from './pointer.ts'
import { problem, type SchemaProblem } from './problem.ts'
import type { RootKind } from './read-schema.ts'
import { propertiesOf, shapeWithout } from './shape.ts'

export const argumentByteLimit = 1024 * 1024
/** For a write that a person approves, who must be able to read it. */
export const approvedArgumentByteLimit = 64 * 1024

/** What one bound tool asks of arguments. Made once for a tool; compiled code stays in the cache. */
export interface ArgumentRules {
  /** The catalog's root and every overlay, each enforced on its own. */
  readonly roots: readonly CompiledRoot[]
  /** The catalog's root without the fixed arguments; undefined when there are none, or only the whole can be judged. */
  readonly shape: CompiledRoot | undefined
  readonly fixed: Readonly<Record<string, unknown>>
  readonly byteLimit: number
}

export type EffectiveArguments =
  | { readonly ok: true; readonly text: string }
  | ({ readonly ok: false } & ArgumentProblem)

export interface RuleSource {
  readonly catalogRoot: unknown
  readonly overlays: readonly unknown[]
  readonly fixed: Readonly<Record<string, unknown>>
  readonly byteLimit?: number
}

export function argumentRules(source: RuleSource, schemas: SchemaCache): ArgumentRules {
  const { catalogRoot, overlays, fixed, byteLimit = argumentByteLimit } = source
  const root = (kind: RootKind, schema: unknown): CompiledRoot =>
    schemas.root(kind, digestOf(schema), schema)
  const names = Object.keys(fixed)
  const shape = names.length > 0 ? shapeWithout(catalogRoot, names) : undefined
  return {
    roots: [root('catalog', catalogRoot), ...overlays.map((overlay) => root('overlay', overlay))],
    shape: shape && root('catalog', shape),
    fixed,
    byteLimit,
  }
}

/** Effective arguments as canonical JSON, or what is wrong with the guest's. Throws only `bad_schema`. */
export function effectiveArguments(
  input: ArgumentRules & { readonly argumentsText: string },
): EffectiveArguments {
  const { argumentsText, roots, shape, fixed, byteLimit } = input
  const parsed = parseExact(argumentsText)
  if (!parsed.ok)
    return refused('arguments_not_exact', problem(parsed.path, inexact[parsed.problem]))
  const { value, canonical } = parsed
  if (!isSchemaObject(value)) return refused('arguments_refused', problem('', 'must be an object'))
  const tooLarge = `must be at most ${byteLimit} bytes`
  if (isLonger(canonical, byteLimit)) return refused('arguments_too_large', problem('', tooLarge))
  const names = Object.keys(fixed)
  if (names.length === 0) return verdict(firstProblem(roots, value), canonical)
  const sent = names.find((name) => Object.hasOwn(value, name))
  if (sent !== undefined)
    return refused('arguments_refused', problem(toPointer([sent]), 'is not known'))
  const misshapen = shape?.check(value)
  if (misshapen) return refused('arguments_refused', misshapen)
  const whole = { ...value, ...fixed }
  const text = canonicalJson(whole)
  if (isLonger(text, byteLimit)) return refused('arguments_too_large', problem('', tooLarge))
  return verdict(withoutNames(firstProblem(roots, whole), names), text)
}

const inexact: Record<Inexact, string> = {
  syntax: 'is not JSON',
  duplicate_key: 'is given twice',
  number: 'is a number that a 64-bit float does not hold exactly',
  surrogate: 'holds half of a surrogate pair',
  proto: 'is a name that is not allowed',
  depth: 'is nested more than 64 levels deep',
}

function refused(
  code: ArgumentProblem['code'],
  { path, detail }: SchemaProblem,
): EffectiveArguments {
  return { ok: false, code, field: path, detail }
}

function verdict(found: SchemaProblem | undefined, text: string): EffectiveArguments {
  return found ? refused('arguments_refused', found) : { ok: true, text }
}

function isLonger(text: string, limit: number): boolean {
  if (text.length * 3 <= limit) return false
  return text.length > limit || Buffer.byteLength(text) > limit
}

function firstProblem(roots: readonly CompiledRoot[], value: unknown): SchemaProblem | undefined {
  for (const root of roots) {
    const found = root.check(value)
    if (found) return found
  }
  return undefined
}

/** The guest does not learn the names of fixed arguments. */
function withoutNames(
  found: SchemaProblem | undefined,
  names: readonly string[],
): SchemaProblem | undefined {
  const [name = ''] = found ? fromPointer(found.path) : []
  return names.includes(name)
    ? problem('', 'does not fit together with what the grant sets')
    : found
}

/**
 * For save time: may these arguments be fixed? Each must be exact and fit its property as far as that can be judged
 * without the others, in the catalog's root and in every overlay. Throws `fixed_argument` with the pointer of the
 * argument, and `bad_schema`.
 */
export function checkFixed(
  catalogRoot: unknown,
  fixed: Readonly<Record<string, unknown>>,
  overlays: readonly unknown[] = [],
): void {
  checkExact(fixed)
  const kinds: (readonly [unknown, RootKind])[] = [
    [catalogRoot, 'catalog'],
    ...overlays.map((overlay) => [overlay, 'overlay'] as const),
  ]
  for (const [schema, kind] of kinds) {
    const properties = propertiesOf(schema)
    const found = properties && compileRoot(properties, kind).check(fixed)
    if (found) throw new SallyportError('fixed_argument', { field: found.path })
  }
}

function checkExact(fixed: Readonly<Record<string, unknown>>): void {
  let text: string
  try {
    text = canonicalJson(fixed)
  } catch (cause) {
    throw new SallyportError('fixed_argument', { field: '', cause })
  }
  const exact = parseExact(text)
  if (!exact.ok) throw new SallyportError('fixed_argument', { field: exact.path })
}
