/**
 * One enforced schema. Every root is compiled alone, in its own dialect, by an instance of its own, so that no schema
 * can be reached from another and nothing stays behind when it is dropped.
 */
import { SallyportError } from '@sallyport/protocol'
import {
  Ajv,
  type AnySchemaObject,
  MissingRefError,
  type Options,
  type ValidateFunction,
} from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type Dialect, isSchemaObject } from './dialect.ts'
import { rewriteForAjv } from './for-ajv.ts'
import { assertFormats } from './formats.ts'
import { replaceKeywords } from './keywords.ts'
import { type LinearPatterns, linearPatterns } from './linear-pattern.ts'
import { toPointer } from './pointer.ts'
import { problem, problemOf, type SchemaProblem } from './problem.ts'
import { badSchema, type Document, type RootKind, readSchema } from './read-schema.ts'
import type { Place } from './walk.ts'
import { startWork, TooMuchWork } from './work.ts'

export interface CompiledRoot {
  /** What is wrong with a value, or undefined. Never changes the value, never throws for one. */
  check(value: unknown): SchemaProblem | undefined
}

/** Throws `bad_schema` with the JSON pointer of what cannot be enforced. */
export function compileRoot(schema: unknown, kind: RootKind): CompiledRoot {
  const document = readSchema(schema, kind)
  checkDialect(document)
  rewriteForAjv(document.places, document.dialect, kind)
  const validate = compile(document, kind)
  return { check: (value) => check(validate, value) }
}

const engines = { 'draft-07': Ajv, '2019-09': Ajv2019, '2020-12': Ajv2020 } as const
const metaSchemas = new Map<Dialect, Ajv>()

/** Is the document a schema of its dialect? The instances that know are kept; they hold nothing of what they judge. */
function checkDialect({ dialect, root }: Document): void {
  let ajv = metaSchemas.get(dialect)
  if (!ajv) {
    ajv = new engines[dialect]({ strict: false, validateFormats: false, logger: false })
    metaSchemas.set(dialect, ajv)
  }
  if (!ajv.validateSchema(root as AnySchemaObject))
    throw badSchema(ajv.errors?.[0]?.instancePath ?? '')
}

function compile({ dialect, root, places }: Document, kind: RootKind): ValidateFunction {
  const patterns = linearPatterns()
  for (const place of places) checkPatterns(place, patterns)
  const ajv = new engines[dialect](optionsOf(dialect, kind, patterns))
  // The constructors insist on it; without need it is only work at each check.
  ajv.opts.unevaluated = places.some(({ schema }) => evaluating.some((name) => name in schema))
  try {
    replaceKeywords(ajv)
    if (kind === 'overlay') {
      assertFormats(ajv)
      for (const place of places) checkStrict(place, ajv)
    }
    return ajv.compile(root as AnySchemaObject)
  } catch (thrown) {
    if (thrown instanceof SallyportError) throw thrown
    throw badSchema(culprit(thrown, places), thrown)
  }
}

const evaluating = ['unevaluatedProperties', 'unevaluatedItems']

function optionsOf(dialect: Dialect, kind: RootKind, regExp: LinearPatterns): Options {
  return {
    meta: false,
    validateSchema: false,
    // Inlining copies what a reference names at each place that names it.
    inlineRefs: false,
    ownProperties: true,
    verbose: true,
    logger: false,
    strict: false,
    strictSchema: kind === 'overlay',
    allowMatchingProperties: true,
    validateFormats: kind === 'overlay',
    ignoreKeywordsWithRef: dialect === 'draft-07',
    // The optimizer drops variables that are used.
    code: { regExp, optimize: false },
  }
}

function checkPatterns({ schema, steps }: Place, patterns: LinearPatterns): void {
  const { pattern, patternProperties } = schema
  const all: string[][] = isSchemaObject(patternProperties)
    ? Object.keys(patternProperties).map((name) => ['patternProperties', name])
    : []
  if (typeof pattern === 'string') all.push(['pattern'])
  for (const place of all) {
    try {
      patterns(place[1] ?? String(pattern))
    } catch (cause) {
      throw badSchema(toPointer([...steps, ...place]), cause)
    }
  }
}

function checkStrict({ schema, steps }: Place, ajv: Ajv): void {
  for (const keyword of Object.keys(schema))
    if (!Object.hasOwn(ajv.RULES.keywords, keyword)) throw badSchema(toPointer([...steps, keyword]))
  const { format } = schema
  if (format !== undefined && !Object.hasOwn(ajv.formats, format as string))
    throw badSchema(toPointer([...steps, 'format']))
}

/** Where the reference stands that ajv could not follow, as well as it can be told. */
function culprit(thrown: unknown, places: readonly Place[]): string {
  const place = places.find(
    ({ schema: { $ref } }) => typeof $ref === 'string' && !$ref.startsWith('#'),
  )
  return thrown instanceof MissingRefError && place ? toPointer([...place.steps, '$ref']) : ''
}

function check(validate: ValidateFunction, value: unknown): SchemaProblem | undefined {
  startWork()
  try {
    return validate(value) === true ? undefined : problemOf(validate.errors ?? [])
  } catch (thrown) {
    // A schema that refers to itself without end fills the stack first.
    const isWork = thrown instanceof TooMuchWork || thrown instanceof RangeError
    return problem('', isWork ? 'takes too much work to check' : 'cannot be checked')
  } finally {
    validate.errors = null // they hold the value
  }
}
