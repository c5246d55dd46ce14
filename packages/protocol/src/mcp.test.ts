import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeHeaderValue, encodeHeaderValue, legacyVersions, meta, modernVersion } from './mcp.ts'

test('the words that others rely on are these', () => {
  expect(modernVersion).toBe('2026-07-28')
  expect(legacyVersions).toEqual(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])
  expect(meta).toEqual({
    protocolVersion: 'io.modelcontextprotocol/protocolVersion',
    clientInfo: 'io.modelcontextprotocol/clientInfo',
    clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
    serverInfo: 'io.modelcontextprotocol/serverInfo',
    subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  })
})

test.each([
  ['us-east1', 'us-east1'],
  ['two words', 'two words'],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['Zürich', '=?base64?WsO8cmljaA==?='],
  ['a\r\nb', '=?base64?YQ0KYg==?='],
  ['', '=?base64??='],
  ['\ufeffx', '=?base64?77u/eA==?='],
  ['=?base64?=', '=?base64?='],
  ['=?base64?SGVsbG8=?=', '=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?='],
])('writes %j as %s and reads it back', (value, header) => {
  expect(encodeHeaderValue(value)).toBe(header)
  expect(decodeHeaderValue(header)).toBe(value)
})

test.each([
  ['no padding', '=?base64?SGVsbG8?='],
  ['too much padding', '=?base64?SGVsbG8==?='],
  ['bits that are thrown away', '=?base64?SGVsbG9=?='],
  ['no base64', '=?base64?!!!?='],
  ['spaces', '=?base64?SGVs bG8=?='],
  ['the other alphabet', '=?base64?_w==?='],
  ['no UTF-8', '=?base64?/w==?='],
  ['a surrogate in UTF-8', '=?base64?7aCA?='],
])('reads nothing from a marker with %s', (_name, header) => {
  expect(decodeHeaderValue('=?base64?SGVsbG8=?=')).toBe('Hello')
  expect(decodeHeaderValue(header)).toBeUndefined()
})

test.each(['=?base64?SGVsbG8=', 'SGVsbG8=', '=?BASE64?SGVsbG8=?=', 'x=?base64?SGVsbG8=?='])(
  'reads %s without the whole marker as it is',
  (header) => {
    expect(decodeHeaderValue(header)).toBe(header)
  },
)

test('every text survives, in a value that cannot end its line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const header = encodeHeaderValue(value)
      expect(header).toMatch(/^[\x20-\x7e]*$/)
      expect(header).toBe(header.trim())
      expect(decodeHeaderValue(header)).toBe(value)
    }),
  )
})
