import { expect, test } from 'vitest'
import { compileRoot } from './compile.ts'

const problemIn = (schema: unknown, value: unknown) => compileRoot(schema, 'catalog').check(value)

test('an evil pattern answers at once, in its catalog and on the command line of an overlay', () => {
  for (const kind of ['catalog', 'overlay'] as const) {
    const root = compileRoot({ properties: { a: { pattern: '^(a+)+$' } } }, kind)
    expect(root.check({ a: `${'a'.repeat(5000)}!` })).toEqual({
      path: '/a',
      detail: 'must match the pattern ^(a+)+$',
    })
    expect(root.check({ a: 'a'.repeat(5000) })).toBeUndefined()
  }
}, 2000)

const million = 1_000_000
test.each<[string, unknown, unknown]>([
  ['references that double at each level', doubling(40), deep(1)],
  ['a recursion that doubles at each level', recursion(), deep(60)],
  [
    'a recursion without end',
    { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } },
    {},
  ],
  [
    'a long text for a large program',
    { properties: { a: { pattern: '(?:x.{0,900}y)' } } },
    { a: 'x'.repeat(million) },
  ],
])(
  'stops at a bound of work: %s',
  (_name, schema, value) => {
    expect(problemIn(schema, value)).toEqual({ path: '', detail: 'takes too much work to check' })
  },
  10_000,
)

test.each<[string, unknown, unknown]>([
  ['a long text', { properties: { a: { pattern: '^\\S+$' } } }, { a: 'a'.repeat(million) }],
  [
    'many references',
    { properties: { a: { items: { $ref: '#/$defs/n' } } }, $defs: { n: { type: 'integer' } } },
    { a: numbers(300_000) },
  ],
  ['many different items', { properties: { a: { uniqueItems: true } } }, { a: numbers(150_000) }],
  [
    'many items of a long list',
    { properties: { a: { items: { enum: numbers(20_000) } } } },
    { a: Array(300_000).fill(19_999) },
  ],
  [
    'many keys',
    { patternProperties: { '^k': { type: 'integer' } }, additionalProperties: false },
    Object.fromEntries(numbers(80_000).map((n) => [`k${n}`, n])),
  ],
])(
  'is linear in what a megabyte can hold: %s',
  (_name, schema, value) => {
    expect(problemIn(schema, value)).toBeUndefined()
  },
  10_000,
)

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}
function deep(levels: number): unknown {
  let value: Record<string, unknown> = {}
  for (let level = 0; level < levels; level++) value = { a: value }
  return value
}
function doubling(levels: number): unknown {
  const $defs: Record<string, unknown> = { [`d${levels}`]: { type: 'string' } }
  for (let level = 0; level < levels; level++) {
    const $ref = `#/$defs/d${level + 1}`
    $defs[`d${level}`] = { anyOf: [{ $ref }, { $ref }] }
  }
  return { $ref: '#/$defs/d0', $defs }
}
function recursion(): unknown {
  const branch = { properties: { a: { $ref: '#/$defs/node' } } }
  return { $ref: '#/$defs/node', $defs: { node: { allOf: [branch, structuredClone(branch)] } } }
}
