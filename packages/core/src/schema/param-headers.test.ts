import { expect, test } from 'vitest'
import { paramHeaders } from './param-headers.ts'

const region = { type: 'string', 'x-mcp-header': 'Region' }

test('finds annotations through properties, however deep', () => {
  const schema = {
    type: 'object',
    properties: {
      region,
      'x-mcp-header': { type: 'string' },
      place: {
        type: 'object',
        properties: { 'zone/id': { type: 'integer', 'x-mcp-header': 'Zone-Id' } },
      },
      dry: { type: 'boolean', 'x-mcp-header': '!dry' },
      list: { items: { properties: { 'x-mcp-header': {} } } },
    },
    examples: [{ 'x-mcp-header': 1 }],
  }
  expect(paramHeaders(schema)).toEqual({
    ok: true,
    headers: [
      { header: 'Region', path: ['region'] },
      { header: 'Zone-Id', path: ['place', 'zone/id'] },
      { header: '!dry', path: ['dry'] },
    ],
  })
})

test.each([[true], [{}], [{ type: 'object' }], [null]])('finds none in %j', (schema) => {
  expect(paramHeaders(schema)).toEqual({ ok: true, headers: [] })
})

test.each<[string, unknown, string]>([
  [
    'the root',
    { 'x-mcp-header': 'A' },
    'x-mcp-header at  is at a place that arguments do not reach',
  ],
  [
    'an item',
    { properties: { a: { items: region } } },
    'x-mcp-header at /properties/a/items is at a place that arguments do not reach',
  ],
  [
    'a branch',
    { properties: { a: { anyOf: [region] } } },
    'x-mcp-header at /properties/a/anyOf/0 is at a place that arguments do not reach',
  ],
  [
    'a definition',
    { $defs: { a: region } },
    'x-mcp-header at /$defs/a is at a place that arguments do not reach',
  ],
  [
    'what a reference names',
    { properties: { a: { $ref: '#/x/y' } }, x: { y: region } },
    'x-mcp-header at /x/y is at a place that arguments do not reach',
  ],
  [
    'other properties',
    { additionalProperties: region },
    'x-mcp-header at /additionalProperties is at a place that arguments do not reach',
  ],
  [
    'a pattern',
    { patternProperties: { a: region } },
    'x-mcp-header at /patternProperties/a is at a place that arguments do not reach',
  ],
  [
    'a number',
    { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } },
    'x-mcp-header at /properties/a is on something that is no string, integer or boolean',
  ],
  [
    'several types',
    { properties: { a: { type: ['string', 'null'], 'x-mcp-header': 'A' } } },
    'x-mcp-header at /properties/a is on something that is no string, integer or boolean',
  ],
  [
    'no type',
    { properties: { a: { 'x-mcp-header': 'A' } } },
    'x-mcp-header at /properties/a is on something that is no string, integer or boolean',
  ],
  [
    'no token',
    { properties: { a: { type: 'string', 'x-mcp-header': 'A b' } } },
    'x-mcp-header at /properties/a is no header name',
  ],
  [
    'a line end',
    { properties: { a: { type: 'string', 'x-mcp-header': 'A\r\nB: c' } } },
    'x-mcp-header at /properties/a is no header name',
  ],
  [
    'nothing',
    { properties: { a: { type: 'string', 'x-mcp-header': '' } } },
    'x-mcp-header at /properties/a is no header name',
  ],
  [
    'no text',
    { properties: { a: { type: 'string', 'x-mcp-header': 7 } } },
    'x-mcp-header at /properties/a is no header name',
  ],
  [
    'one name in two cases',
    { properties: { a: region, b: { type: 'string', 'x-mcp-header': 'REGION' } } },
    'x-mcp-header at /properties/b is given twice',
  ],
])('refuses the annotation on %s', (_name, schema, reason) => {
  expect(paramHeaders({ properties: { region } })).toMatchObject({ ok: true })
  expect(paramHeaders(schema)).toEqual({ ok: false, reason })
})
