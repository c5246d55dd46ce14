import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ScanResult, scanMessage } from './scan-message.ts'

function object(text: string): Extract<ScanResult, { kind: 'object' }> {
  const result = scanMessage(text)
  if (result.kind !== 'object') throw new Error(`${result.kind}: ${text}`)
  return result
}

test('cuts the members of message, params and _meta out as the text that came', () => {
  const { message, params, meta, ambiguous } = object(
    ' {"jsonrpc" : "2.0","id": 1.50 ,"method":"tools/call",\r\n"params":{"_meta":{"progressToken" : "a\\u0062"},' +
      '"arguments": { "b" : [1.0, 1e0, {"c":null}] } ,"name":"x"}} ',
  )
  expect([...message.keys()]).toEqual(['jsonrpc', 'id', 'method', 'params'])
  expect(message.get('id')).toBe('1.50')
  expect(message.get('jsonrpc')).toBe('"2.0"')
  expect(params?.get('arguments')).toBe('{ "b" : [1.0, 1e0, {"c":null}] }')
  expect(params?.get('name')).toBe('"x"')
  expect(meta?.get('progressToken')).toBe('"a\\u0062"')
  expect(ambiguous).toBeUndefined()
})

test.each([
  ['[]', 'batch'],
  [' [{"jsonrpc":"2.0"}] ', 'batch'],
  ['1', 'scalar'],
  ['"text"', 'scalar'],
  ['null', 'scalar'],
  ['{}', 'object'],
  ['{} {}', 'syntax'],
  ['', 'syntax'],
  [' ', 'syntax'],
  ['[1', 'syntax'],
  ['{"a":1,}', 'syntax'],
  ['[1,]', 'syntax'],
  ['{"a"}', 'syntax'],
  ['{a:1}', 'syntax'],
  ['{"a":01}', 'syntax'],
  ['{"a":1.}', 'syntax'],
  ['{"a":.5}', 'syntax'],
  ['{"a":+1}', 'syntax'],
  ['{"a":-}', 'syntax'],
  ['{"a":NaN}', 'syntax'],
  ['{"a":tru}', 'syntax'],
  ['{"a":truefalse}', 'syntax'],
  ['{"a":"\\x"}', 'syntax'],
  ['{"a":"\\u12g4"}', 'syntax'],
  ['{"a":"\\u123', 'syntax'],
  ['{"a":"b\\"}', 'syntax'],
  ['{"a":"b\nc"}', 'syntax'],
  ['{"a":"b\tc"}\n', 'syntax'],
  ['\ufeff{}', 'syntax'],
  ['\u00a0{}', 'syntax'],
  ['{"a":1]', 'syntax'],
  ['{"a":[1}}', 'syntax'],
  ['{"params":{"arguments":{"a":tru}}}', 'syntax'],
  ['{"params":{"arguments":{"a" 1}}}', 'syntax'],
  ['{"params":{"arguments":}}', 'syntax'],
])('sees that %j is %s', (text, kind) => {
  expect(scanMessage(text).kind).toBe(kind)
})

test.each([
  '{"id":1,"id":1}',
  '{"method":"a","\\u006dethod":"b"}',
  '{"params":{},"params":{}}',
  '{"params":{"name":"a","name":"b"}}',
  '{"params":{"arguments":{},"arguments":{}}}',
  '{"params":{"_meta":{"a":1,"a":1}}}',
  '{"params":{"_meta":{"a":{"b":1,"c":[{"d":1,"d":2}]}}}}',
  '{"params":{"other":[{"arguments":{"a":1,"a":2}}]}}',
  '{"arguments":{"a":1,"a":2}}',
])('finds the key that occurs twice in %s', (text) => {
  expect(object(text).ambiguous).toBe('duplicate_key')
})

test('leaves keys that occur twice inside the arguments to the core', () => {
  const { params, ambiguous } = object('{"params":{"arguments":{"a":1,"a":{"b":1,"b":2}}}}')
  expect(ambiguous).toBeUndefined()
  expect(params?.get('arguments')).toBe('{"a":1,"a":{"b":1,"b":2}}')
})

test('passes arguments of any depth on, and refuses depth elsewhere', () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  expect(object(`{"params":{"arguments":${deep}}}`).params?.get('arguments')).toBe(deep)
  expect(object(`{"params":{"arguments":${deep}}}`).ambiguous).toBeUndefined()
  expect(object(`{"params":{"other":${deep}}}`).ambiguous).toBe('depth')
  const shallow = `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`
  expect(object(`{"params":{"other":${shallow}}}`).ambiguous).toBeUndefined()
})

test('takes time in proportion to the text, whatever is in it', () => {
  const time = (text: string): number => {
    const runs = Array.from({ length: 4 }, () => {
      const start = process.hrtime.bigint()
      scanMessage(text)
      return Number(process.hrtime.bigint() - start)
    })
    return Math.min(...runs) / text.length
  }
  const texts = ['"\\"', '"",', '{"a":[', '\\\\', '"\n"', '\\u0041', '1e9,'].map((part) => {
    return (count: number) => `{"params":{"arguments":["${part.repeat(count)}`
  })
  for (const text of texts) {
    expect(time(text(200_000))).toBeLessThan(20 * Math.max(time(text(20_000)), 20))
  }
})

const spaced = (value: unknown, space: string): string => JSON.stringify(value, null, space)

test('accepts exactly what JSON.parse accepts, also after a random change of a character', () => {
  const noise = fc.constantFrom(...'{}[]",:\\\n\t\u0000 019.eE+-tfnu', '\ud800', '\u2028', 'é')
  const values = fc.jsonValue({ maxDepth: 5 })
  const cases = fc.tuple(values, fc.constantFrom('', ' ', '\n\t'), fc.nat(), fc.option(noise))
  fc.assert(
    fc.property(cases, fc.boolean(), ([value, space, position, char], isInside) => {
      const json = spaced(isInside ? { params: { arguments: value } } : value, space)
      const at = position % (json.length + 1)
      const text = char === null ? json : json.slice(0, at) + char + json.slice(at + 1)
      expect(scanMessage(text).kind === 'syntax').toBe(!parses(text))
    }),
    { numRuns: 20_000 },
  )
})

test('cuts out texts that parse to what the whole parses to', () => {
  const key = fc.oneof(fc.constantFrom('params', '_meta', 'arguments', 'name', 'id'), fc.string())
  const values = fc.jsonValue({ maxDepth: 4 })
  const params = fc.dictionary(key, fc.oneof(values, fc.dictionary(key, values)))
  const messages = fc.dictionary(key, fc.oneof(values, params))
  fc.assert(
    fc.property(messages, fc.constantFrom('', ' ', '\r\n'), (value, space) => {
      const scan = object(spaced(value, space))
      const whole = JSON.parse(JSON.stringify(value))
      expect(parsed(scan.message)).toEqual(Object.entries(whole))
      if (scan.params) expect(parsed(scan.params)).toEqual(Object.entries(whole.params))
      if (scan.meta) expect(parsed(scan.meta)).toEqual(Object.entries(whole.params._meta))
      expect(scan.ambiguous).toBeUndefined()
    }),
    { numRuns: 400 },
  )
})

test('finds a key that occurs twice wherever it stands, and only then', () => {
  const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'é', '"', '\\'), { maxLength: 4 })
  const wraps = fc.constantFrom(
    '',
    '{"x":[',
    '{"params":{"_meta":',
    '{"params":{"y":',
    '{"params":',
  )
  const spelled = fc.func(fc.boolean())
  fc.assert(
    fc.property(keys, wraps, spelled, (names, wrap, isEscaped) => {
      const spell = (name: string, at: number) =>
        isEscaped(at)
          ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}"`
          : JSON.stringify(name)
      const inner = `{${names.map((name, at) => `${spell(name, at)}:${at}`).join()}}`
      const closing = [...wrap]
        .flatMap((c) => (c === '{' ? ['}'] : c === '[' ? [']'] : []))
        .reverse()
      const expected = new Set(names).size < names.length ? 'duplicate_key' : undefined
      expect(object(wrap + inner + closing.join('')).ambiguous).toBe(expected)
    }),
    { numRuns: 2_000 },
  )
})

function parsed(members: ReadonlyMap<string, string>): [string, unknown][] {
  const entries = [...members].map(([key, text]): [string, unknown] => [key, JSON.parse(text)])
  return Object.entries(Object.fromEntries(entries))
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
