import { expect, test } from 'vitest'
import {
  approvedArgumentByteLimit,
  argumentByteLimit,
  argumentRules,
  checkFixed,
  effectiveArguments,
  type RuleSource,
} from './arguments.ts'
import { SchemaCache } from './cache.ts'

const draft07 = 'http://json-schema.org/draft-07/schema#'
const issue = {
  $schema: draft07,
  type: 'object',
  properties: {
    owner: { type: 'string' },
    repo: { type: 'string' },
    count: { type: 'integer', maximum: 100 },
  },
  required: ['owner', 'repo'],
  additionalProperties: false,
}

function effective(argumentsText: string, source: Partial<RuleSource> = {}) {
  const rules = argumentRules(
    { catalogRoot: issue, overlays: [], fixed: {}, ...source },
    new SchemaCache(),
  )
  return effectiveArguments({ argumentsText, ...rules })
}

const refused = (field: string, detail: string) => ({
  ok: false,
  code: 'arguments_refused',
  field,
  detail,
})

test('the limits are these', () => {
  expect(argumentByteLimit).toBe(1_048_576)
  expect(approvedArgumentByteLimit).toBe(65_536)
})

test('arguments become canonical text', () => {
  expect(effective('{ "repo":"r", "owner" : "o", "count": 1.0 }')).toEqual({
    ok: true,
    text: '{"count":1,"owner":"o","repo":"r"}',
  })
})

test.each([
  ['{"owner":1', 'arguments_not_exact', '', 'is not JSON'],
  ['{"owner":"a","owner":"b"}', 'arguments_not_exact', '/owner', 'is given twice'],
  [
    '{"count":9007199254740993}',
    'arguments_not_exact',
    '/count',
    'is a number that a 64-bit float does not hold exactly',
  ],
  ['{"owner":"\\ud800"}', 'arguments_not_exact', '/owner', 'holds half of a surrogate pair'],
  ['{"__proto__":{}}', 'arguments_not_exact', '/__proto__', 'is a name that is not allowed'],
  [
    `${'[1,'.repeat(65)}`,
    'arguments_not_exact',
    '/1'.repeat(64),
    'is nested more than 64 levels deep',
  ],
  ['[]', 'arguments_refused', '', 'must be an object'],
  ['null', 'arguments_refused', '', 'must be an object'],
  ['"{}"', 'arguments_refused', '', 'must be an object'],
  ['{"owner":"o"}', 'arguments_refused', '/repo', 'is required'],
  ['{"owner":"o","repo":"r","x":1}', 'arguments_refused', '/x', 'is not known'],
  ['{"owner":"o","repo":"r","count":101}', 'arguments_refused', '/count', 'must be at most 100'],
  ['{"owner":"o","repo":"r","count":"7"}', 'arguments_refused', '/count', 'must be integer'],
])('%s is refused as %s at %j: %s', (text, code, field, detail) => {
  expect(effective(text)).toEqual({ ok: false, code, field, detail })
})

test('every overlay is enforced on its own, beside the catalog', () => {
  const overlays = [
    { properties: { owner: { enum: ['acme', 'umbrella'] }, count: { maximum: 5 } } },
    { properties: { owner: { not: { const: 'umbrella' } } }, required: ['count'] },
  ]
  const call = (text: string) => effective(text, { overlays })
  expect(call('{"count":5,"owner":"acme","repo":"r"}')).toMatchObject({ ok: true })
  expect(call('{"count":6,"owner":"acme","repo":"r"}')).toEqual(
    refused('/count', 'must be at most 5'),
  )
  expect(call('{"count":5,"owner":"evil","repo":"r"}')).toEqual(
    refused('/owner', 'must be one of "acme", "umbrella"'),
  )
  expect(call('{"count":5,"owner":"umbrella","repo":"r"}')).toEqual(
    refused('/owner', 'is not allowed'),
  )
  expect(call('{"owner":"acme","repo":"r"}')).toEqual(refused('/count', 'is required'))
})

const fixed = { owner: 'acme' }

test('fixed arguments are set, in canonical text', () => {
  expect(effective('{"repo":"r"}', { fixed })).toEqual({
    ok: true,
    text: '{"owner":"acme","repo":"r"}',
  })
})

test('a guest that sends a fixed argument is told what it would be told of an unknown one', () => {
  for (const owner of ['"acme"', '"other"', 'null', '1'])
    expect(effective(`{"owner":${owner},"repo":"r"}`, { fixed })).toEqual(
      refused('/owner', 'is not known'),
    )
  expect(effective('{"unknown":1,"repo":"r"}', { fixed })).toEqual(
    refused('/unknown', 'is not known'),
  )
})

test('the shape is checked without them, then every root on the whole', () => {
  expect(effective('{}', { fixed })).toEqual(refused('/repo', 'is required'))
  expect(effective('{"repo":1}', { fixed })).toEqual(refused('/repo', 'must be string'))
  const overlays = [{ dependentRequired: { owner: ['count'] } }]
  expect(effective('{"repo":"r"}', { fixed, overlays })).toEqual(refused('/count', 'is required'))
  expect(effective('{"repo":"r","count":1}', { fixed, overlays })).toMatchObject({ ok: true })
})

test('rules over several properties wait for the whole', () => {
  const catalogRoot = {
    properties: issue.properties,
    minProperties: 2,
    anyOf: [{ required: ['owner'] }, { required: ['nothing'] }],
    dependentRequired: { repo: ['owner'] },
  }
  expect(effective('{"repo":"r"}', { catalogRoot, fixed })).toMatchObject({ ok: true })
  expect(effective('{}', { catalogRoot, fixed })).toMatchObject({ ok: false, field: '' })
})

test('a schema that refers to itself is judged on the whole only', () => {
  const catalogRoot = { ...issue, properties: { ...issue.properties, child: { $ref: '#' } } }
  const child = '{"owner":"any","repo":"r"}'
  expect(effective(`{"child":${child},"repo":"r"}`, { catalogRoot, fixed })).toEqual({
    ok: true,
    text: `{"child":${child},"owner":"acme","repo":"r"}`,
  })
  expect(effective('{"child":{"repo":"r"},"repo":"r"}', { catalogRoot, fixed })).toEqual(
    refused('/child/owner', 'is required'),
  )
})

test('the guest does not learn the name or the value of a fixed argument that does not fit', () => {
  const overlays = [{ properties: { owner: { const: 'umbrella' } } }]
  const answer = effective('{"repo":"r"}', { fixed, overlays })
  expect(answer).toEqual(refused('', 'does not fit together with what the grant sets'))
})

test('a name of Object is a name like others', () => {
  const catalogRoot = { properties: { constructor: { type: 'string' } } }
  expect(effective('{}', { catalogRoot, fixed: { toString: 'x' } })).toEqual({
    ok: true,
    text: '{"toString":"x"}',
  })
  expect(effective('{"toString":"y"}', { catalogRoot, fixed: { toString: 'x' } })).toEqual(
    refused('/toString', 'is not known'),
  )
})

test('bytes are counted in what is sent on, fixed arguments included', () => {
  const sized = (size: number, byteLimit: number, fixedText = '') =>
    effective(JSON.stringify({ a: 'é'.repeat(size) }), {
      catalogRoot: {},
      byteLimit,
      fixed: fixedText ? { b: fixedText } : {},
    })
  expect(sized(46, 100)).toMatchObject({ ok: true })
  expect(sized(47, 100)).toEqual({
    ok: false,
    code: 'arguments_too_large',
    field: '',
    detail: 'must be at most 100 bytes',
  })
  expect(sized(40, 100, 'x'.repeat(5))).toMatchObject({ ok: true })
  expect(sized(40, 100, 'x'.repeat(20))).toMatchObject({ code: 'arguments_too_large' })
  const spaced = `{"a":${' '.repeat(200)}1}`
  expect(effective(spaced, { catalogRoot: {}, byteLimit: 100 })).toEqual({
    ok: true,
    text: '{"a":1}',
  })
})

test('a megabyte is the default', () => {
  const text = (size: number) => JSON.stringify({ a: 'x'.repeat(size - 8) })
  expect(effective(text(1_048_576), { catalogRoot: {} })).toMatchObject({ ok: true })
  expect(effective(text(1_048_577), { catalogRoot: {} })).toMatchObject({
    code: 'arguments_too_large',
  })
})

test.each<[string, unknown, Record<string, unknown>, unknown[]]>([
  ['that fits', issue, { owner: 'o' }, []],
  ['whose partner is missing', issue, { count: 1 }, []],
  ['that is not listed', {}, { any: { thing: [1] } }, []],
  [
    'that the overlay allows',
    issue,
    { count: 5 },
    [{ properties: { count: { maximum: 5 } }, required: ['repo'] }],
  ],
  ['under a reference to the root', { properties: { a: { $ref: '#' } } }, { a: 'x' }, []],
  [
    'under a definition',
    { properties: { a: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'integer' } } },
    { a: 1 },
    [],
  ],
])('an argument may be fixed %s', (_name, root, values, overlays) => {
  expect(() => checkFixed(root, values, overlays)).not.toThrow()
})

test.each<[string, unknown, Record<string, unknown>, unknown[], string]>([
  ['of the wrong type', issue, { owner: 1 }, [], '/owner'],
  ['over a limit', issue, { count: 101 }, [], '/count'],
  ['that is unknown', issue, { ownr: 'o' }, [], '/ownr'],
  [
    'that the overlay refuses',
    issue,
    { count: 6 },
    [{ properties: { count: { maximum: 5 } } }],
    '/count',
  ],
  [
    'that the overlay does not know',
    issue,
    { owner: 'o' },
    [{ properties: { repo: {} }, additionalProperties: false }],
    '/owner',
  ],
  [
    'under a definition',
    { properties: { a: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'integer' } } },
    { a: 'x' },
    [],
    '/a',
  ],
  ['that is a prototype', {}, JSON.parse('{"__proto__":1}'), [], '/__proto__'],
  ['that is half a pair', {}, { a: '\ud800' }, [], ''],
  ['that is no number', {}, { a: Number.NaN }, [], ''],
])('an argument may not be fixed %s', (_name, root, values, overlays, field) => {
  expect(() => checkFixed(root, values, overlays)).toThrow(
    expect.objectContaining({ code: 'fixed_argument', field }),
  )
})
