/** What is shown is never narrower than what is enforced: random roots of every dialect, overlays, fixed names, values. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CompiledRoot, compileRoot } from './compile.ts'
import type { SchemaObject } from './dialect.ts'
import { withoutMembers } from './shape.ts'
import { shownSchema } from './shown.ts'

const name = fc.constantFrom('a', 'b', 'c', 'x-d')
const small = fc.integer({ min: 0, max: 3 })
const leaves = [0, 1, 2, 'x', 'a@b.c', '', true, null]
const leaf = fc.constantFrom<unknown>(...leaves)
const members = <T>(value: fc.Arbitrary<T>, maxKeys: number) =>
  fc.dictionary(name, value, { maxKeys, noNullPrototype: true })

const someValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    { weight: 4, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 2 }) },
    { weight: 1, arbitrary: members(tie('value'), 2) },
  ),
})).value

/** Mostly permissive, so that values get through. */
const simple: fc.Arbitrary<SchemaObject> = fc.oneof(
  fc
    .subarray(['integer', 'number', 'string', 'object', 'array', 'boolean', 'null'], {
      minLength: 3,
    })
    .map((type) => ({ type })),
  fc.subarray(leaves, { minLength: 4 }).map((values) => ({ enum: values })),
  fc.record({ const: leaf }),
  fc.record({ minimum: small }),
  fc.record({ maximum: small, exclusiveMinimum: fc.constant(-1) }),
  fc.record({ maxLength: small }),
  fc.record({ pattern: fc.constantFrom('^x?', '@|^$') }),
  fc.record({ format: fc.constantFrom('email', 'date') }),
  fc.record({ minItems: fc.constant(1), uniqueItems: fc.boolean() }),
  fc.record({ maxProperties: small }),
  fc.record({ required: fc.subarray(['a', 'b'], { maxLength: 1 }) }),
  fc.record({ multipleOf: fc.constantFrom(1, 2) }),
  fc.record({ description: fc.constant('d'), default: leaf }),
)

/** JSON text, because the linter takes an object with `then` for a promise. */
const condition = (when: unknown, so: unknown): SchemaObject =>
  JSON.parse(`{"if":${JSON.stringify(when)},"then":${JSON.stringify(so)}}`)

function schemas(isOverlay: boolean): fc.Arbitrary<unknown> {
  return fc.letrec<{ schema: unknown }>((tie) => {
    const inner = tie('schema')
    const some = fc.array(inner, { minLength: 1, maxLength: 2 })
    const references = ['#/$defs/p', '#/$defs/q', '#/$defs/p/items']
    if (!isOverlay) references.push('#/definitions/r', '#/properties/a', '#')
    const compound = [
      fc.record({ anyOf: some }),
      fc.record({ oneOf: some }),
      fc.record({ allOf: some }),
      fc.record({ not: inner }),
      fc.tuple(inner, inner).map(([when, so]) => condition(when, so)),
      fc.record({ properties: members(inner, 2), additionalProperties: inner }),
      fc.record({ items: inner }),
      fc.record({ contains: inner }),
      fc.record({ properties: members(inner, 2), unevaluatedProperties: fc.constant(false) }),
      fc.record({ $ref: fc.constantFrom(...references) }),
      ...(isOverlay
        ? [
            fc.record({ prefixItems: some, items: inner }),
            fc.record({ contains: inner, minContains: fc.constant(0) }),
          ]
        : []),
    ]
    return {
      schema: fc.oneof(
        { maxDepth: 3, depthSize: 'small', withCrossShrink: true },
        { weight: 6, arbitrary: simple },
        { weight: 1, arbitrary: fc.constantFrom<unknown>(true, true, false) },
        { weight: 3, arbitrary: fc.oneof(...compound) },
        {
          weight: 3,
          arbitrary: fc
            .tuple(simple, fc.oneof(simple, ...compound))
            .map(([one, other]) => ({ ...one, ...other })),
        },
      ),
    }
  }).schema
}

const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
const present = (object: object): SchemaObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))

function roots(isOverlay: boolean): fc.Arbitrary<SchemaObject> {
  const inner = schemas(isOverlay)
  const body = fc
    .record({
      properties: fc.tuple(inner, members(inner, 3)).map(([a, others]) => ({ a, ...others })),
      required: rarely(fc.subarray(['a', 'b'], { maxLength: 1 })),
      additionalProperties: rarely(fc.oneof(fc.constant(false), inner)),
      patternProperties: rarely(fc.record({ '^x-': inner })),
      unevaluatedProperties: rarely(fc.constant(false)),
      minProperties: rarely(fc.constant(1)),
      propertyNames: rarely(fc.constant({ maxLength: 1 })),
      anyOf: rarely(fc.array(inner, { minLength: 1, maxLength: 2 })),
      dependentRequired: rarely(fc.constant({ a: ['b'] })),
    })
    .map(present)
  const definitions = fc.record({ p: fc.record({ items: inner }), q: inner })
  const dialects = [
    {},
    { $schema: 'http://json-schema.org/draft-07/schema#' },
    { $schema: 'https://json-schema.org/draft/2019-09/schema' },
  ]
  return fc
    .record({
      head: isOverlay ? fc.constant({}) : fc.constantFrom(...dialects),
      body,
      allOf: rarely(fc.array(body, { minLength: 1, maxLength: 2 })),
      $defs: definitions,
      definitions: isOverlay ? fc.constant(undefined) : fc.record({ r: inner }),
    })
    .map(({ head, body, ...rest }) => ({ ...head, ...body, ...present(rest) }))
}

/** Undefined for what no grant could have: references in circles, and the like. */
function compiled(schema: unknown, kind: 'catalog' | 'overlay'): CompiledRoot | undefined {
  try {
    return compileRoot(schema, kind)
  } catch {
    return undefined
  }
}

const scene = fc.record({
  root: roots(false),
  overlays: fc.array(roots(true), { maxLength: 1 }),
  fixed: fc.subarray(['a', 'b'], { maxLength: 1 }),
  values: fc.array(members(someValue, 3), { minLength: 30, maxLength: 30 }),
})

test('whatever every root accepts, the shown schema accepts', () => {
  let accepted = 0
  let refused = 0
  fc.assert(
    fc.property(scene, ({ root, overlays, fixed, values }) => {
      const enforced = [root, ...overlays].map((schema, i) =>
        compiled(schema, i === 0 ? 'catalog' : 'overlay'),
      )
      if (enforced.includes(undefined)) return
      const { schema } = shownSchema(root, overlays, fixed)
      for (const keyword of ['allOf', 'anyOf', 'oneOf', 'not', 'if', '$ref', 'enum', 'const'])
        expect(schema).not.toHaveProperty([keyword])
      const shown = compileRoot(schema, 'catalog')
      for (const value of values) {
        const found = shown.check(withoutMembers(value, fixed))
        if (found) refused++
        if (enforced.some((each) => each?.check(value))) continue
        if (Object.keys(value).length > 0) accepted++
        expect(found).toBeUndefined()
      }
    }),
    { numRuns: 500 },
  )
  expect(accepted).toBeGreaterThan(1000)
  expect(refused).toBeGreaterThan(1000)
}, 120_000)
