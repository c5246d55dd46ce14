import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from './canonical.ts'
import { type Inexact, parseExact } from './exact.ts'

/** The expected text of RFC 8785 for values written here in JSON, each made from the rule it is named after. */
const vectors: readonly [rule: string, json: string, canonical: string][] = [
  ['3.2.1 no whitespace between tokens', ' { "a" : [ 1 , 2 ] } ', '{"a":[1,2]}'],
  ['3.2.2.1 literals', '[null,true,false]', '[null,true,false]'],
  [
    '3.2.2.2 only control characters, quote and backslash are escaped',
    '"\\/\\u007f\\u20ac"',
    '"/\x7f€"',
  ],
  [
    '3.2.2.2 short escapes where JSON has them, small hexadecimal digits elsewhere',
    '"\\u0008\\u0009\\u000A\\u000C\\u000D\\u000B\\u001F\\u0000\\u0022\\u005C"',
    '"\\b\\t\\n\\f\\r\\u000b\\u001f\\u0000\\"\\\\"',
  ],
  ['3.2.2.2 text is not normalized', '"e\\u0301\\u00e9"', '"e\u0301\u00e9"'],
  [
    '3.2.2.3 integers',
    '[333333333.33333329,1E30,4.50,2e-3]',
    '[333333333.3333333,1e+30,4.5,0.002]',
  ],
  ['3.2.2.3 smallest', '[1e-27,-0,0.000001,1e-7]', '[1e-27,0,0.000001,1e-7]'],
  [
    '3.2.2.3 where the exponent begins',
    '[1e20,1e21,123456789012345680000]',
    '[100000000000000000000,1e+21,123456789012345680000]',
  ],
  ['appendix B minimum', '[5e-324,-5e-324]', '[5e-324,-5e-324]'],
  ['appendix B maximum', '[1.7976931348623157e308]', '[1.7976931348623157e+308]'],
  [
    'appendix B largest integers',
    '[9007199254740992,-9007199254740992,295147905179352830000]',
    '[9007199254740992,-9007199254740992,295147905179352830000]',
  ],
  [
    'appendix B neighbours',
    '[9.999999999999997e22,1e23,1.0000000000000001e23]',
    '[9.999999999999997e+22,1e+23,1.0000000000000001e+23]',
  ],
  [
    'appendix B many digits',
    '[999999999999999700000,999999999999999900000]',
    '[999999999999999700000,999999999999999900000]',
  ],
  [
    'appendix B one third',
    '[333333333.3333332,333333333.33333325,333333333.3333334]',
    '[333333333.3333332,333333333.33333325,333333333.3333334]',
  ],
  [
    '3.2.3 keys sort by UTF-16 units, so a pair comes before U+FB33',
    '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}',
    '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}',
  ],
  [
    '3.2.3 keys sort in every object, arrays stay',
    '[{"b":{"d":1,"c":2},"a":3},0]',
    '[{"a":3,"b":{"c":2,"d":1}},0]',
  ],
  [
    '3.2.3 the empty key and a prefix come first',
    '{"ab":1,"a":2,"":3,"A":4}',
    '{"":3,"A":4,"a":2,"ab":1}',
  ],
]

test.each(vectors)('canonical form: %s', (_rule, json, canonical) => {
  expect(canonicalJson(JSON.parse(json))).toBe(canonical)
  expect(canonicalJson(JSON.parse(canonical))).toBe(canonical)
})

test.each([
  ['a number that is not finite', Number.NaN],
  ['infinity inside', { a: [Number.POSITIVE_INFINITY] }],
  ['half a pair', 'a\ud83d'],
  ['half a pair in a key', { '\ude00': 1 }],
  ['undefined', undefined],
  ['undefined in an array', [undefined]],
  ['a function', () => 1],
  ['a big integer', 1n],
])('has no canonical form for %s', (_name, value) => {
  expect(() => canonicalJson(value)).toThrow(TypeError)
})

test('leaves out members with the value undefined, as JSON does', () => {
  expect(canonicalJson({ b: undefined, a: 1 })).toBe('{"a":1}')
})

const refused: readonly [text: string, problem: Inexact, path: string][] = [
  ['{"a":1,"a":2}', 'duplicate_key', '/a'],
  ['{"b":1,"a":2,"b":3}', 'duplicate_key', '/b'],
  ['{"c":1,"b":2,"d":3,"c":4}', 'duplicate_key', '/c'],
  ['{"a":1,"\\u0061":2}', 'duplicate_key', '/a'],
  ['[{"x":{"k":1,"j":0,"k":1}}]', 'duplicate_key', '/0/x/k'],
  ['{"__proto__":1}', 'proto', '/__proto__'],
  ['{"a":{"\\u005f_proto__":{}}}', 'proto', '/a/__proto__'],
  ['{"id":9007199254740993}', 'number', '/id'],
  ['{"id":12345678901234567890}', 'number', '/id'],
  ['[0.1000000000000000055]', 'number', '/0'],
  ['[1e400]', 'number', '/0'],
  ['[-1e400]', 'number', '/0'],
  ['[1e-400]', 'number', '/0'],
  ['{"a/b":{"~":[1,9007199254740993]}}', 'number', '/a~1b/~0/1'],
  ['"\\ud800"', 'surrogate', ''],
  ['{"a":"x\\udfffy"}', 'surrogate', '/a'],
  ['{"a":"\ud800"}', 'surrogate', ''],
  ['{"\\udc00":1}', 'surrogate', ''],
  ['', 'syntax', ''],
  ['{', 'syntax', ''],
  ['{"a":1,}', 'syntax', ''],
  ['[1,]', 'syntax', '/1'],
  ['01', 'syntax', ''],
  ['1.', 'syntax', ''],
  ['+1', 'syntax', ''],
  ['NaN', 'syntax', ''],
  ['"a\tb"', 'syntax', ''],
  ['"\\x41"', 'syntax', ''],
  ['"\\', 'syntax', ''],
  ['1 2', 'syntax', ''],
  ['\ufeff1', 'syntax', ''],
  ["{'a':1}", 'syntax', ''],
]

test.each(refused)('refuses %s as %s at %j', (text, problem, path) => {
  expect(parseExact(text)).toEqual({ ok: false, problem, path })
})

test.each([
  ['1.0', '1'],
  ['1e0', '1'],
  ['100e-2', '1'],
  ['-0', '0'],
  ['-0.0e7', '0'],
  ['0.10', '0.1'],
  ['1000000000000000000000', '1e+21'],
  [`1${'0'.repeat(308)}`, '1e+308'],
  ['9007199254740992', '9007199254740992'],
  ['5E-324', '5e-324'],
  ['{"b":1.50,"a":"\\u0061"}', '{"a":"a","b":1.5}'],
  ['"\\ud83d\\ude00"', '"😀"'],
  ['"\\\\ud800"', '"\\\\ud800"'],
])('accepts %s as %s', (text, canonical) => {
  expect(parseExact(text)).toMatchObject({ ok: true, canonical })
})

test('accepts 64 levels and refuses the 65th, at its place', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  expect(parseExact(nested(64)).ok).toBe(true)
  expect(parseExact(nested(65))).toEqual({ ok: false, problem: 'depth', path: '/0'.repeat(64) })
  expect(parseExact(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`)).toMatchObject({ problem: 'depth' })
  expect(parseExact('['.repeat(1_000_000))).toMatchObject({ problem: 'depth' })
})

test('spends no more than a scan on hostile text', () => {
  const zeros = '0'.repeat(500_000)
  expect(parseExact(`0.1${zeros}1`)).toMatchObject({ problem: 'number' })
  expect(parseExact(`1e${zeros}1`)).toMatchObject({ problem: 'number' })
  expect(parseExact(`[${'"\\n",'.repeat(200_000)}1]`).ok).toBe(true)
  const keys = Array.from({ length: 100_000 }, (_, i) => `"${100_000 - i}":0`)
  expect(parseExact(`{${keys.join()}}`).ok).toBe(true)
})

test('keeps canonical text as it is', () => {
  const text = '{"a":[1,true,null,"é\u2028"],"b":{"c":-1.5e+300}}'
  expect(parseExact(text)).toEqual({ ok: true, value: JSON.parse(text), canonical: text })
})

/** JSON text with free whitespace, key order, number spelling and escapes, hostile pieces among them. */
const looseText = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('0', '-0', '1.50', '1e5', '12345678901234567890', '1E-2', '01', 'null', 'tru'),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => JSON.stringify(text)),
    fc.constantFrom('"\\ud83d"', '"\\ud83d\\ude00"', '"\\u0041"', '"\\/"', '"\n"', '"\\q"'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[ ${items.join(' ,')}]`),
    fc
      .array(
        fc.tuple(fc.constantFrom('"a"', '"b"', '"\\u0061"', '"__proto__"', '"é"'), tie('value')),
        { maxLength: 4 },
      )
      .map((members) => `{${members.map(([key, value]) => `${key}:\t${value}`).join(',')} }`),
  ),
})).value

test('agrees with JSON.parse on everything it accepts, and gives its canonical form', () => {
  let accepted = 0
  fc.assert(
    fc.property(looseText, (text) => {
      const result = parseExact(text)
      if (!result.ok) return
      accepted++
      expect(result.value).toEqual(JSON.parse(text))
      expect(result.canonical).toBe(canonicalJson(JSON.parse(text)))
      expect(parseExact(result.canonical)).toEqual({
        ...result,
        value: JSON.parse(result.canonical),
      })
    }),
    { numRuns: 3000 },
  )
  expect(accepted).toBeGreaterThan(500)
})

test('says the same of a value beside a large string as beside a small one', () => {
  const [small, large] = ['x', 'x'.repeat(5_000)]
  const beside = (pad: string, text: string): string => `{"pad":"${pad}","v":[${text}]}`
  fc.assert(
    fc.property(looseText, (text) => {
      const result = parseExact(beside(large, text))
      const expected = parseExact(beside(small, text))
      if (!result.ok || !expected.ok) expect(result).toEqual(expected)
      else expect(result.canonical.replace(large, small)).toBe(expected.canonical)
    }),
    { numRuns: 3000 },
  )
})

test('accepts what JSON.stringify writes, whatever the value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      if (text.includes('__proto__') || !text.isWellFormed() || /\\ud[89a-f]/.test(text)) return
      expect(parseExact(text)).toEqual({
        ok: true,
        value: JSON.parse(text),
        canonical: canonicalJson(value),
      })
    }),
    { numRuns: 1000 },
  )
})

test('finds a key given twice wherever it stands', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ maxLength: 3 }), { minLength: 1, maxLength: 8 }),
      fc.nat(),
      fc.nat(),
      (keys, which, where) => {
        const twice = keys[which % keys.length] as string
        if (twice === '__proto__' || keys.includes('__proto__')) return
        const all = keys.toSpliced(where % (keys.length + 1), 0, twice)
        const object = (names: string[]): string =>
          `{${names.map((key) => `${JSON.stringify(key)}:1`).join()}}`
        expect(parseExact(object(all))).toMatchObject({ ok: false, problem: 'duplicate_key' })
        expect(parseExact(object(keys)).ok).toBe(true)
      },
    ),
  )
})
