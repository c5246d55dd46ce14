import { expect, test } from 'vitest'
import { compileRoot } from './compile.ts'

const accepts = (schema: unknown, value: unknown): boolean =>
  compileRoot(schema, 'catalog').check(value) === undefined
const badAt = (field: string) => expect.objectContaining({ code: 'bad_schema', field })
const draft2019 = 'https://json-schema.org/draft/2019-09/schema'

const conditional = JSON.parse(`{
  "if": { "properties": { "kind": { "const": "a" } }, "required": ["kind"] },
  "then": { "properties": { "a": true } },
  "else": { "properties": { "b": true } },
  "unevaluatedProperties": false
}`)

test('a condition that is not fulfilled evaluates nothing', () => {
  expect(accepts(conditional, { kind: 'a', a: 1 })).toBe(true)
  expect(accepts(conditional, { b: 1 })).toBe(true)
  expect(accepts(conditional, { kind: 'a', b: 1 })).toBe(false)
  expect(accepts(conditional, { kind: 'z', b: 1 })).toBe(false)
})

test('a condition without consequences evaluates what it finds', () => {
  const { if: condition, unevaluatedProperties } = conditional
  const schema = { if: condition, unevaluatedProperties }
  expect(accepts(schema, { kind: 'a' })).toBe(true)
  expect(accepts(schema, { kind: 'z' })).toBe(false)
})

test('a branch that fails evaluates nothing, nor does what was looked at before', () => {
  for (const keyword of ['anyOf', 'oneOf']) {
    const open = {
      [keyword]: [{ patternProperties: { '^x': { const: 0 } } }, { required: ['y'] }],
      properties: { y: true },
      unevaluatedProperties: false,
    }
    expect(accepts(open, { x: 0 })).toBe(true)
    expect(accepts(open, { x: 1, y: 1 })).toBe(false)
    const named = {
      [keyword]: [
        { properties: { a: true }, required: ['a', 'b'] },
        { properties: { c: true }, required: ['c'] },
      ],
      unevaluatedProperties: { const: 'free' },
    }
    expect(accepts({ items: named }, [{ a: 1, b: 'free' }, { c: 1 }])).toBe(true)
    expect(
      accepts({ items: named }, [
        { a: 1, b: 'free' },
        { a: 1, c: 1 },
      ]),
    ).toBe(false)
  }
  const depending = {
    dependentSchemas: { a: { properties: { a: true, b: true } } },
    unevaluatedProperties: false,
  }
  expect(accepts({ items: depending }, [{ a: 1, b: 1 }, {}])).toBe(true)
  expect(accepts({ items: depending }, [{ a: 1, b: 1 }, { b: 1 }])).toBe(false)
})

test('properties by pattern are evaluated before the rest is', () => {
  const schema = { patternProperties: { '^x': true }, unevaluatedProperties: false }
  expect(accepts(schema, { x1: 1 })).toBe(true)
  expect(accepts(schema, { y1: 1 })).toBe(false)
  const branches = {
    patternProperties: { '^x': { type: 'integer' } },
    anyOf: [{ minProperties: 9 }, { properties: {}, additionalProperties: { type: 'string' } }],
  }
  expect(accepts(branches, { a: 'b' })).toBe(true)
  expect(accepts(branches, { x: 1 })).toBe(false)
})

test('an empty array holds nothing, whatever was looked at before it', () => {
  for (const list of [{ contains: { const: 1 } }, { contains: { const: 1 }, minContains: 1 }]) {
    const schema = { additionalProperties: list, items: list }
    for (const value of [{ a: [1], b: [] }, [[1], []], { b: [] }])
      expect(accepts(schema, value)).toBe(false)
    for (const value of [{ a: [1], b: [1] }, [[1], [2, 1]]])
      expect(accepts(schema, value)).toBe(true)
  }
  expect(accepts({ contains: { const: 1 }, minContains: 0 }, [])).toBe(true)
})

test('an array shorter than its tuple is asked everything else too', () => {
  const tuples = [
    { prefixItems: [true, { type: 'integer' }, true] },
    { $schema: 'http://json-schema.org/draft-07/schema#', items: [{}, { type: 'integer' }, {}] },
  ]
  for (const tuple of tuples) {
    const unique = { ...tuple, uniqueItems: true }
    expect([[], [1], [1, 2]].map((value) => accepts(unique, value))).toEqual([true, true, true])
    expect(accepts(unique, [1, 1])).toBe(false)
    const containing = { ...tuple, contains: { const: 9 } }
    expect([[], [1], [9], [9, 'x']].map((value) => accepts(containing, value))).toEqual([
      false,
      false,
      true,
      false,
    ])
  }
})

test('a dynamic reference in one document is a reference', () => {
  const list = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    items: { $dynamicRef: '#element', minimum: 0 },
    $defs: { element: { $dynamicAnchor: 'element', type: 'integer' } },
  }
  expect([[1], ['a'], [-1]].map((value) => accepts(list, value))).toEqual([true, false, false])
  const tree = {
    $schema: draft2019,
    properties: { next: { $recursiveRef: '#', $ref: '#/$defs/small' } },
    additionalProperties: false,
    $defs: { small: { maxProperties: 1 } },
  }
  expect(accepts(tree, { next: { next: {} } })).toBe(true)
  expect(accepts(tree, { next: { other: {} } })).toBe(false)
  const embedded = { $id: 'https://example.com/inner', $dynamicAnchor: 'element', type: 'string' }
  expect(() => compileRoot({ ...list, $defs: { element: embedded } }, 'catalog')).toThrow(
    badAt('/items/$dynamicRef'),
  )
})

test('unevaluated items are enforced after fixed places only', () => {
  const tuple = { prefixItems: [{ type: 'string' }], unevaluatedItems: false }
  expect(accepts({ properties: { a: tuple } }, { a: ['x'] })).toBe(true)
  expect(accepts({ properties: { a: tuple } }, { a: ['x', 1] })).toBe(false)
  for (const evaluates of [{ contains: {} }, { anyOf: [{ items: true }] }, { $ref: '#' }])
    expect(() => compileRoot({ properties: { a: { ...tuple, ...evaluates } } }, 'catalog')).toThrow(
      badAt('/properties/a/unevaluatedItems'),
    )
})

test('in draft-07 a name beside a reference gives references no other base', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'https://example.com/root/',
    definitions: { named: { $id: 'https://example.com/root/n', type: 'integer' } },
    properties: { a: { $id: 'https://example.com/other/', $ref: 'n' } },
  }
  expect(accepts(schema, { a: 1 })).toBe(true)
  expect(accepts(schema, { a: 'x' })).toBe(false)
})

test('a document may refer to itself by its name', () => {
  const $id = 'urn:example:tool'
  const schema = {
    $id,
    properties: { a: { $ref: `${$id}#/$defs/n` }, b: { $ref: $id } },
    $defs: { n: { type: 'integer' } },
  }
  expect(accepts(schema, { b: { a: 1 } })).toBe(true)
  expect(accepts(schema, { b: { a: 'x' } })).toBe(false)
})
