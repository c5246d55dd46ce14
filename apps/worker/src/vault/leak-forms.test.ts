import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formsOfUrl, formsOfValues, holdsForm } from './leak-forms.ts'

const secret = 'se/cret+12 "34é'
const forms = formsOfValues([secret])
const result = (text: string) => Buffer.from(JSON.stringify({ content: [{ type: 'text', text }] }))

test.each([
  ['as it is', secret],
  ['percent-encoded', encodeURIComponent(secret)],
  [
    'percent-encoded in small letters',
    encodeURIComponent(secret).replace(/%../g, (hex) => hex.toLowerCase()),
  ],
  ['in base64', Buffer.from(secret).toString('base64')],
  ['in base64url', Buffer.from(secret).toString('base64url')],
  ['in base64 behind one other byte', Buffer.from(`x${secret}`).toString('base64')],
  ['in base64 behind two other bytes', Buffer.from(`xx${secret}yy`).toString('base64')],
  ['in base64 of a header', Buffer.from(`Authorization: Bearer ${secret}`).toString('base64')],
])('finds a secret %s', (_how, text) => {
  expect(holdsForm(result(`before ${text} after`), forms)).toBe(true)
  expect(holdsForm(result(`before ${text.slice(0, 4)} after`), forms)).toBe(false)
})

test('finds a secret that is written with JSON escapes', () => {
  const escaped = [...secret].map(
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  expect(holdsForm(Buffer.from(`{"text":"${escaped.join('')}"}`), forms)).toBe(true)
  const slashed = JSON.stringify({ text: secret }).replaceAll('/', '\\/')
  expect(holdsForm(Buffer.from(slashed), forms)).toBe(true)
})

test.each([
  ['in a member that is said twice', (text: string) => `{"a":"${text}","a":1}`],
  ['in a text that has no end', (text: string) => `{"a":"\\n${text}`],
  ['below a great depth', (text: string) => `${'['.repeat(50_000)}"${text}"${']'.repeat(50_000)}`],
  [
    'behind escapes of all kinds',
    (text: string) => `"\\b\\f\\n\\r\\t\\"\\\\\\ud83D\\uDE00${text}"`,
  ],
])('finds a secret with JSON escapes %s, and does not fail without one', (_how, json) => {
  const escaped = JSON.stringify(secret).slice(1, -1).replace('/', '\\/')
  expect(holdsForm(Buffer.from(json(escaped)), forms)).toBe(true)
  expect(holdsForm(Buffer.from(json('\\u0041')), forms)).toBe(false)
})

test('finds any secret in any mix of escapes', () => {
  const spelling = fc.constantFrom('plain', 'small', 'large')
  fc.assert(
    fc.property(
      fc.string({ minLength: 8, maxLength: 40, unit: 'binary' }),
      fc.array(spelling, { minLength: 80, maxLength: 80 }),
      (value, how) => {
        const hex = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
        const units = value.split('').map((char, at) => {
          if (how[at] === 'small') return hex(char)
          if (how[at] === 'large') return `\\u${hex(char).slice(2).toUpperCase()}`
          return JSON.stringify(char).slice(1, -1).replace('/', '\\/')
        })
        expect(holdsForm(Buffer.from(`["${units.join('')}\\u0041"]`), formsOfValues([value]))).toBe(
          true,
        )
      },
    ),
  )
})

test('finds any secret in base64 of anything', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 8, maxLength: 40, unit: 'grapheme-ascii' }),
      fc.string({ maxLength: 10 }),
      fc.string({ maxLength: 10 }),
      (value, before, after) => {
        const text = Buffer.from(before + value + after).toString('base64')
        expect(holdsForm(result(text), formsOfValues([value]))).toBe(true)
      },
    ),
  )
})

test('the parts of a header value are secrets too, and what Basic holds', () => {
  const basic = `Basic ${Buffer.from('somebody:pass-word-1').toString('base64')}`
  const found = formsOfValues([basic, 'Token abcdefgh1'])
  for (const text of ['somebody:pass-word-1', 'pass-word-1', 'abcdefgh1'])
    expect(holdsForm(result(text), found)).toBe(true)
  expect(holdsForm(result('somebody'), found)).toBe(false)
})

test('values of many words are sought as wholes, and a bounded number of their words', () => {
  const word = (n: number) => `word${String(n).padStart(5, '0')}`
  const value = (header: number) =>
    Array.from({ length: 800 }, (_, n) => word(1000 * header + n)).join(' ')
  const values = Array.from({ length: 10 }, (_, header) => value(header))
  const found = formsOfValues(values)
  expect(found.length).toBeLessThan(400)
  for (const text of [...values, word(0)]) expect(holdsForm(result(text), found)).toBe(true)
})

test('what is short is an ordinary word', () => {
  expect(formsOfValues(['1', 'true', 'acme-12'])).toEqual([])
})

test('a URL hides the values of its query and the parts of its path that are no words', () => {
  const found = formsOfUrl(
    'https://h/api/streamable/k3y-abcdef/AbCdEfGhIj/mcp?tenant=acme%20corp&v=1&lonely-word',
  )
  for (const text of ['k3y-abcdef', 'AbCdEfGhIj', 'acme corp', 'acme%20corp', 'lonely-word'])
    expect(holdsForm(result(text), found)).toBe(true)
  for (const text of ['streamable', 'api', 'mcp', 'tenant'])
    expect(holdsForm(result(text), found)).toBe(false)
})

test('nothing is found where there is no secret', () => {
  expect(holdsForm(result('anything \\u0041'), [])).toBe(false)
})
