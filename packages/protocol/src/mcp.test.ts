import { expect, test } from 'vitest'
import { decodeHeaderValue, encodeHeaderValue } from './mcp.ts'

test.each([
  ['us-east1', 'us-east1'],
  ['two words', 'two words'],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['Zürich', '=?base64?WsO8cmljaA==?='],
  ['a\r\nb', '=?base64?YQ0KYg==?='],
  ['', '=?base64??='],
  ['=?base64?SGVsbG8=?=', '=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?='],
])('writes %j as %s and reads it back', (value, header) => {
  expect(encodeHeaderValue(value)).toBe(header)
  expect(decodeHeaderValue(header)).toBe(value)
})

test('reads nothing from broken base64, and text without the whole marker as it is', () => {
  expect(decodeHeaderValue('=?base64?SGVsbG8=?=')).toBe('Hello')
  expect(decodeHeaderValue('=?base64?SGVsbG8?=')).toBeUndefined()
  expect(decodeHeaderValue('=?base64?/w==?=')).toBeUndefined()
  expect(decodeHeaderValue('=?base64?SGVsbG8=')).toBe('=?base64?SGVsbG8=')
  expect(decodeHeaderValue('SGVsbG8=')).toBe('SGVsbG8=')
})
