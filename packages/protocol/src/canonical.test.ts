import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from './canonical.ts'
import { parseExact } from './exact.ts'

/** RFC 8785 as plainly as it can be written. */
function reference(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(reference).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${reference(member)}`).join(',')}}`
}

const keys = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 4 }),
  fc.constantFrom(
    '10',
    '9',
    '01',
    '1a',
    'a',
    'B',
    'constructor',
    'toString',
    'é',
    '\u{1f600}',
    '\ufb33',
    '\\ud800',
  ),
)
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.string({ unit: 'grapheme' }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(null, true, false, '\\ud800', -0, 1e21, 1e-7),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(keys, tie('tree'), { maxKeys: 5 }),
  ),
}))

test('writes any JSON value as the plainest reading of RFC 8785 does', () => {
  fc.assert(
    fc.property(tree, (value) => {
      const copy = JSON.parse(JSON.stringify(value))
      const before = JSON.stringify(copy)
      expect(canonicalJson(copy)).toBe(reference(copy))
      expect(JSON.stringify(copy)).toBe(before)
    }),
    { numRuns: 2000 },
  )
})

test.each([
  ['a number that is not finite', { a: [Number.NaN] }],
  ['half a surrogate pair', { a: ['\ud800'] }],
  ['half a pair in a key', { '\udc00': 1 }],
  ['a hole in a list', { a: [undefined] }],
  ['a function', { a: [() => 1] }],
  ['a big integer', { a: 1n }],
])('refuses %s, wherever it stands', (_what, value) => {
  expect(() => canonicalJson(value)).toThrow(TypeError)
})

test('leaves a key alone that an object would treat as its own', () => {
  expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"x":1},"a":2}'))).toBe(
    '{"__proto__":{"x":1},"a":2,"b":1}',
  )
})

/** Text of at least this length takes the quick way where it can. */
const large = 'x'.repeat(2000)

test('large text gives the same answer as small text of the same form', () => {
  fc.assert(
    fc.property(fc.dictionary(keys, tree, { maxKeys: 5 }), (value) => {
      const small = JSON.stringify(value)
      const big = JSON.stringify({ ...JSON.parse(small), zzz: large })
      const [a, b] = [parseExact(small), parseExact(big)]
      expect(b.ok).toBe(a.ok)
      if (a.ok && b.ok) expect(b.canonical).toBe(reference({ ...JSON.parse(small), zzz: large }))
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['a key given twice', '"a":1,"a":1', 'duplicate_key', '/a'],
  ['a key given twice deep inside', '"o":[{"k":1,"j":2,"k":3}]', 'duplicate_key', '/o/0/k'],
  ['a key given twice, once by an escape', '"a":1,"\\u0061":1', 'duplicate_key', '/a'],
  ['an integer beyond a double', '"n":12345678901234567890', 'number', '/n'],
  ['a fraction beyond a double', '"n":0.12345678901234567890', 'number', '/n'],
  ['a number beyond all doubles', '"n":1e999', 'number', '/n'],
  ['half a pair', '"s":"\\ud800"', 'surrogate', '/s'],
  ['__proto__', '"__proto__":1', 'proto', '/__proto__'],
  ['__proto__ by an escape', '"\\u005f_proto__":1', 'proto', '/__proto__'],
  ['65 levels', `"d":${'['.repeat(64)}${']'.repeat(64)}`, 'depth', `/d${'/0'.repeat(63)}`],
])('%s is found in large text, at its place', (_what, members, problem, path) => {
  expect(parseExact(`{${members},"zzz":"${large}"}`)).toEqual({ ok: false, problem, path })
  expect(parseExact(`{"aaa":"${large}",${members}}`)).toEqual({ ok: false, problem, path })
})

test('large text that is not compact, or spells numbers its own way, is made canonical', () => {
  for (const text of [
    `{ "b":1, "a":"${large}"}`,
    `{"b":1.0,"a":"${large}"}`,
    `{"b":1e0,"a":"${large}"}`,
  ])
    expect(parseExact(text)).toMatchObject({ ok: true, canonical: `{"a":"${large}","b":1}` })
  expect(parseExact(`{"b":-0,"a":"${large}"}`)).toMatchObject({
    canonical: `{"a":"${large}","b":0}`,
  })
})
