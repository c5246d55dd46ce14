import { expect, test } from 'vitest'
import { compileRoot } from './compile.ts'
import type { SchemaObject } from './dialect.ts'
import { shownSchema } from './shown.ts'

const draft07 = 'http://json-schema.org/draft-07/schema#'
const propertiesOf = (root: unknown, ...overlays: unknown[]) =>
  shownSchema(root, overlays, []).schema.properties

test('a plain object schema is shown as it is', () => {
  const root = {
    $schema: draft07,
    type: 'object',
    title: 'T',
    description: 'D',
    properties: {
      a: { type: 'string', format: 'x', nullable: true },
      b: { $ref: '#/definitions/b' },
    },
    required: ['a'],
    additionalProperties: false,
    definitions: { b: { items: { $ref: '#/definitions/c' } }, c: { type: 'null' } },
  }
  expect(shownSchema(root, [], [])).toEqual({ schema: root, told: [] })
})

test('definitions that nothing refers to are left out', () => {
  const { schema } = shownSchema({ properties: { a: {} }, $defs: { x: { type: 'null' } } }, [], [])
  expect(schema).toEqual({ type: 'object', properties: { a: {} } })
})

test.each([[true], [false], [{}], [null], ['x'], [{ type: ['object', 'null'] }]])(
  'a root that says nothing (%j) is shown as an object',
  (root) => {
    expect(shownSchema(root, [], []).schema).toEqual({ type: 'object', properties: {} })
  },
)

test.each<[string, SchemaObject, SchemaObject, unknown]>([
  ['enum ∩', { enum: ['a', 'b', 'c'] }, { enum: ['c', 'a', 'z'] }, { enum: ['c', 'a'] }],
  [
    'enum where there was none',
    { type: 'string' },
    { enum: ['a'] },
    { type: 'string', enum: ['a'] },
  ],
  [
    'enum by value',
    { enum: [{ x: 1, y: 2 }, 1] },
    { enum: [{ y: 2, x: 1 }] },
    { enum: [{ y: 2, x: 1 }] },
  ],
  ['const in enum', { enum: ['a', 'b'] }, { const: 'b' }, { const: 'b' }],
  ['enum around const', { const: 'b' }, { enum: ['a', 'b'] }, { const: 'b' }],
  [
    'const null',
    { type: ['string', 'null'] },
    { const: null },
    { type: ['string', 'null'], const: null },
  ],
  [
    'tighter maximum',
    { type: 'integer', maximum: 100 },
    { maximum: 5 },
    { type: 'integer', maximum: 5 },
  ],
  ['wider maximum', { maximum: 5 }, { maximum: 100 }, { maximum: 5 }],
  ['tighter minimum', { minimum: 1 }, { minimum: 3 }, { minimum: 3 }],
  [
    'lengths',
    { minLength: 1, maxLength: 9 },
    { minLength: 3, maxLength: 5 },
    { minLength: 3, maxLength: 5 },
  ],
  ['items', { minItems: 2 }, { minItems: 1, maxItems: 4 }, { minItems: 2, maxItems: 4 }],
  ['uniqueItems', { uniqueItems: false }, { uniqueItems: true }, { uniqueItems: true }],
  ['required below', { required: ['a'] }, { required: ['b', 'a'] }, { required: ['a', 'b'] }],
  [
    'a narrower type',
    { type: ['string', 'number'] },
    { type: ['integer', 'null'] },
    { type: 'integer' },
  ],
  ['number of an integer', { type: 'integer' }, { type: 'number' }, { type: 'integer' }],
  ['a first pattern', {}, { pattern: '^a' }, { pattern: '^a' }],
  ['the same pattern', { pattern: '^a' }, { pattern: '^a' }, { pattern: '^a' }],
  [
    'a second pattern',
    { pattern: '^a' },
    { pattern: 'b$' },
    { pattern: '^a', allOf: [{ pattern: 'b$' }] },
  ],
  [
    'what has no simple form',
    { type: 'string' },
    { not: { const: 'x' } },
    { type: 'string', allOf: [{ not: { const: 'x' } }] },
  ],
  [
    'beside an allOf',
    { allOf: [{ minimum: 1 }] },
    { anyOf: [{ maximum: 5 }] },
    { allOf: [{ minimum: 1 }, { anyOf: [{ maximum: 5 }] }] },
  ],
  [
    'properties below',
    { properties: { x: {} } },
    { properties: { x: { const: 1 } }, additionalProperties: false },
    {
      properties: { x: {} },
      allOf: [{ properties: { x: { const: 1 } }, additionalProperties: false }],
    },
  ],
  [
    'descriptions',
    { description: 'Any.' },
    { description: 'Ours.', title: 'no' },
    { description: 'Any. Ours.' },
  ],
  ['a default that is not allowed any more', { default: 'z' }, { enum: ['a'] }, { enum: ['a'] }],
  [
    'a default of ours',
    { default: 'z' },
    { enum: ['a'], default: 'a' },
    { enum: ['a'], default: 'a' },
  ],
])('an overlay is folded into its property: %s', (_name, base, rule, shown) => {
  const overlay = { properties: { p: rule } }
  expect(propertiesOf({ type: 'object', properties: { p: base } }, overlay)).toEqual({ p: shown })
})

test('a property that only the overlay has is added, unless the catalog takes no others', () => {
  const overlay = { properties: { b: { type: 'string', not: { const: 'x' } } } }
  const a = { type: 'integer' }
  expect(propertiesOf({ properties: { a } }, overlay)).toEqual({ a, b: overlay.properties.b })
  expect(propertiesOf({ properties: { a }, additionalProperties: false }, overlay)).toEqual({ a })
})

test('an overlay that takes no others hides them', () => {
  const root = {
    properties: { a: {}, b: {}, c: {} },
    required: ['a'],
    patternProperties: { '^x-': {} },
    additionalProperties: { type: 'string' },
  }
  const closed = { properties: { a: { const: 1 }, z: {} }, additionalProperties: false }
  expect(shownSchema(root, [closed], [])).toEqual({
    schema: {
      type: 'object',
      properties: { a: { const: 1 }, z: {} },
      required: ['a'],
      additionalProperties: false,
    },
    told: [],
  })
  const unevaluated = { properties: { b: true }, unevaluatedProperties: false }
  expect(propertiesOf(root, unevaluated)).toEqual({ b: {} })
})

test('a forbidden or impossible argument is hidden, and told where others are taken', () => {
  const root = { properties: { force: { type: 'boolean' }, mode: { enum: ['a'] }, n: {} } }
  const overlay = { properties: { force: false, mode: { const: 'b' } } }
  expect(shownSchema(root, [overlay], [])).toEqual({
    schema: { type: 'object', properties: { n: {} } },
    told: ['Also enforced: "force" is not allowed.', 'Also enforced: "mode" is not allowed.'],
  })
  const { told } = shownSchema({ ...root, additionalProperties: false }, [overlay], [])
  expect(told).toEqual([])
})

test('required is the union, and what is required is described', () => {
  const root = { properties: { a: {} }, required: ['a', 'x'] }
  const { schema } = shownSchema(root, [{ required: ['b'] }, { required: ['a', 'c'] }], [])
  expect(schema.required).toEqual(['a', 'x', 'b', 'c'])
  expect(schema.properties).toEqual({ a: {}, x: {}, b: {}, c: {} })
})

test('fixed arguments are nowhere', () => {
  const root = {
    properties: { owner: { const: 'secret-owner' }, repo: {} },
    required: ['owner', 'repo'],
    dependentRequired: { repo: ['owner'] },
    additionalProperties: false,
  }
  const overlay = {
    properties: { owner: { anyOf: [{ const: 'secret-owner' }] } },
    anyOf: [{ required: ['owner'] }, { required: ['repo'] }],
    required: ['owner'],
  }
  const shown = shownSchema(root, [overlay], ['owner'])
  expect(JSON.stringify(shown)).not.toContain('owner')
  expect(shown.schema).toMatchObject({ properties: { repo: {} }, required: ['repo'] })
})

const combinators = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  '$ref',
  'enum',
  'const',
]

test.each<[string, SchemaObject, SchemaObject, readonly string[]]>([
  [
    'anyOf',
    { type: 'object', properties: { a: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    { type: 'object', properties: { a: {} } },
    ['Also enforced: {"anyOf":[{"required":["a"]},{"required":["b"]}]}'],
  ],
  [
    'allOf, which all hold',
    {
      properties: { a: { type: 'string' } },
      allOf: [{ properties: { a: { maxLength: 5 }, b: {} } }, { required: ['b'] }],
    },
    { type: 'object', properties: { a: { type: 'string', maxLength: 5 }, b: {} }, required: ['b'] },
    [],
  ],
  [
    'a reference',
    {
      $schema: draft07,
      $ref: '#/definitions/Args',
      definitions: {
        Args: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      },
    },
    { $schema: draft07, type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
    [],
  ],
  [
    'a condition',
    JSON.parse(
      '{"if":{"required":["a"]},"then":{"required":["b"]},"not":{"required":["c"]},"minProperties":1}',
    ),
    { type: 'object', properties: {} },
    [
      'Also enforced: {"if":{"required":["a"]},"then":{"required":["b"]}}',
      'Also enforced: {"not":{"required":["c"]}}',
      'Also enforced: {"minProperties":1}',
    ],
  ],
  [
    'values',
    { enum: [{ a: 1 }], properties: { a: {} } },
    { type: 'object', properties: { a: {} } },
    ['Also enforced: {"enum":[{"a":1}]}'],
  ],
])('a catalog root with %s is flat', (_name, root, schema, told) => {
  const shown = shownSchema(root, [], [])
  expect(shown).toEqual({ schema, told })
  for (const keyword of combinators) expect(shown.schema).not.toHaveProperty([keyword])
})

test('a reference to the root, or to another property, keeps what it meant', () => {
  const root = {
    type: 'object',
    properties: {
      a: { type: 'integer', maximum: 9 },
      b: { $ref: '#/properties/a' },
      child: { $ref: '#' },
    },
    required: ['a'],
    additionalProperties: false,
  }
  const { schema } = shownSchema(root, [{ properties: { a: { maximum: 1 } } }], [])
  const shown = compileRoot(schema, 'catalog')
  expect(shown.check({ a: 1, b: 9, child: { a: 9 } })).toBeUndefined()
  expect(shown.check({ a: 2 })?.path).toBe('/a')
  expect(shown.check({ a: 1, b: 10 })?.path).toBe('/b')
  expect(shown.check({ a: 1, child: {} })?.path).toBe('/child/a')
})

test('definitions of an overlay do not meet those of the catalog', () => {
  const root = {
    properties: { a: { $ref: '#/$defs/x' } },
    $defs: { x: { type: 'integer' }, x_: { type: 'null' } },
  }
  const overlay = { properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: { maximum: 5 } } }
  const { schema } = shownSchema(root, [overlay], [])
  expect(schema).toEqual({
    type: 'object',
    properties: { a: { $ref: '#/$defs/x', allOf: [{ $ref: '#/$defs/x__' }] } },
    $defs: { x: { type: 'integer' }, x__: { maximum: 5 } },
  })
})

test('a rule that an older dialect would read otherwise is told in words', () => {
  const root = {
    $schema: draft07,
    properties: { a: { type: 'array' }, b: { $ref: '#/definitions/b' } },
    definitions: { b: { type: 'integer' } },
  }
  const overlay = {
    properties: {
      a: { maxItems: 3, prefixItems: [{ const: 1 }], items: false },
      b: { maximum: 5 },
    },
  }
  expect(shownSchema(root, [overlay], [])).toEqual({
    schema: {
      $schema: draft07,
      type: 'object',
      properties: {
        a: { type: 'array', maxItems: 3 },
        b: { allOf: [{ $ref: '#/definitions/b' }], maximum: 5 },
      },
      definitions: { b: { type: 'integer' } },
    },
    told: ['Also enforced for "a": {"items":false,"prefixItems":[{"const":1}]}'],
  })
})

test('a format that is asserted under a negation is told in words', () => {
  const overlay = { properties: { a: { maxLength: 9, not: { format: 'email' } } } }
  expect(shownSchema({ properties: { a: {} } }, [overlay], [])).toEqual({
    schema: { type: 'object', properties: { a: { maxLength: 9 } } },
    told: ['Also enforced for "a": {"not":{"format":"email"}}'],
  })
})

test('what is told is bounded', () => {
  const anyOf = Array.from({ length: 100 }, (_, i) => ({ required: [`argument-${i}`] }))
  const overlays = Array.from({ length: 50 }, () => ({ anyOf }))
  const { told } = shownSchema({}, overlays, [])
  expect(told).toHaveLength(20)
  for (const sentence of told) {
    expect(sentence.length).toBeLessThan(350)
    expect(sentence).toMatch(/^Also enforced: \{"anyOf":.*…$/)
  }
})

test('the schemas that come in are not changed', () => {
  const root = { properties: { a: { allOf: [{ minimum: 1 }], $ref: '#' } }, required: ['a'] }
  const overlay = { properties: { a: { anyOf: [{}], default: 1 } }, required: ['b'] }
  const before = structuredClone([root, overlay])
  shownSchema(root, [overlay], [])
  expect([root, overlay]).toEqual(before)
})
