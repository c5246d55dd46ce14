import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileRoot } from './compile.ts'

const problemIn = (schema: unknown, value: unknown) => compileRoot(schema, 'catalog').check(value)
const accepts = (schema: unknown, value: unknown): boolean => problemIn(schema, value) === undefined

test.each([
  [19.99, 0.01, true],
  [0.3, 0.1, true],
  [1.005, 0.01, false],
  [1e21, 1, true],
  [1e300, 7, false],
  [1e-7, 1e-7, true],
  [-4.5, 1.5, true],
  [0, 3, true],
  [7, 3, false],
])('%d is a multiple of %d: %s', (value, multipleOf, expected) => {
  expect(accepts({ properties: { a: { multipleOf } } }, { a: value })).toBe(expected)
})

test('own keywords agree with comparing each with each', () => {
  const item = fc.oneof(
    fc.constantFrom(0, -0, 1, '1', 'a', null, true, '__x'),
    fc.jsonValue({ maxDepth: 1 }),
  )
  const same = (a: unknown, b: unknown): boolean => {
    try {
      expect(JSON.parse(JSON.stringify(a))).toEqual(JSON.parse(JSON.stringify(b)))
      return true
    } catch {
      return false
    }
  }
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 5 }), item, (values, value) => {
      const twice = values.some((a, i) => values.some((b, j) => i < j && same(a, b)))
      expect(accepts({ uniqueItems: true }, values)).toBe(!twice)
      expect(accepts({ enum: values }, value)).toBe(values.some((known) => same(known, value)))
    }),
  )
})

test('only own properties count', () => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
    expect(accepts({ required: [name] }, {})).toBe(false)
    expect(accepts({ required: [name] }, { [name]: 1 })).toBe(true)
    expect(accepts({ properties: { [name]: { type: 'string' } } }, {})).toBe(true)
    expect(accepts({ dependentRequired: { [name]: ['a'] } }, {})).toBe(true)
    expect(accepts({ additionalProperties: false }, { [name]: 1 })).toBe(false)
    expect(accepts({ unevaluatedProperties: false }, { [name]: 1 })).toBe(false)
    const dynamic = {
      anyOf: [{ properties: { a: {} }, required: ['a'] }, { properties: { b: {} } }],
      unevaluatedProperties: false,
    }
    expect(accepts(dynamic, { a: 1, b: 1 })).toBe(true)
    expect(problemIn(dynamic, { b: 1, [name]: 1 })?.path).toBe(`/${name}`)
    expect(
      problemIn(
        { $ref: '#/$defs/d', $defs: { d: { anyOf: dynamic.anyOf } }, unevaluatedProperties: false },
        { b: 1, [name]: 1 },
      )?.path,
    ).toBe(`/${name}`)
  }
})
