import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  checkHeaderNames,
  checkSecret,
  checkWebhookSecret,
  destinationOf,
  isConnectionName,
  parseEndpoint,
} from './names.ts'

test.each(['a', '0', 'git-hub', 'a1', 'a'.repeat(32), `a${'-'.repeat(30)}b`])(
  '%s is a connection name',
  (name) => {
    expect(isConnectionName(name)).toBe(true)
  },
)

test.each([
  '',
  '-a',
  'a-',
  'A',
  'a_b',
  'a.b',
  'é',
  'a'.repeat(33),
  'a\n',
  'sallyport',
  'mcp',
  'a b',
])('%j is not a connection name', (name) => {
  expect(isConnectionName(name)).toBe(false)
})

test.each([
  ['https://Example.COM/mcp?key=1', 'https', 'example.com', 443, 'https://example.com/mcp?key=1'],
  ['https://example.com:8443', 'https', 'example.com', 8443, 'https://example.com:8443/'],
  ['https://example.com./x', 'https', 'example.com', 443, 'https://example.com./x'],
  [
    'https://bücher.example/',
    'https',
    'xn--bcher-kva.example',
    443,
    'https://xn--bcher-kva.example/',
  ],
  ['https://[2001:DB8::1]/', 'https', '[2001:db8::1]', 443, 'https://[2001:db8::1]/'],
  ['http://127.0.0.1:3000/mcp', 'http', '127.0.0.1', 3000, 'http://127.0.0.1:3000/mcp'],
  ['http://localhost:80/mcp', 'http', 'localhost', 80, 'http://localhost/mcp'],
  ['http://[::1]:3000', 'http', '[::1]', 3000, 'http://[::1]:3000/'],
  ['http://127.1:9', 'http', '127.0.0.1', 9, 'http://127.0.0.1:9/'],
])('%s is an endpoint', (text, scheme, host, port, url) => {
  expect(parseEndpoint(text, true)).toEqual({ scheme, host, port, url })
})

test.each([
  '',
  'example.com/mcp',
  'ftp://example.com/',
  'file:///etc/passwd',
  'https://',
  'https://./',
  'https://a../',
  'https://user@example.com/',
  'https://user:pw@example.com/',
  'https://:pw@example.com/',
  'https://example.com/#',
  'https://example.com/#part',
  'https://example.com/a\r\nb',
  'https://example.com/\u0085',
  'https://example.com:99999/',
  `https://example.com/${'a'.repeat(2040)}`,
  `https://example.com/${'é'.repeat(400)}`,
  'http://example.com:80/',
  'http://127.0.0.1/mcp',
  'http://localhost/mcp',
  'http://[::1]/',
  'http://127.0.0.1.example.com:80/',
  'http://localhost.example.com:80/',
  'http://10.0.0.1:80/',
  'http://0.0.0.0:80/',
  'http://[::ffff:127.0.0.1]:80/',
])('refuses %j as an endpoint', (text) => {
  expect(() => parseEndpoint(text, true)).toThrow(
    expect.objectContaining({ code: 'bad_url', field: 'url' }),
  )
})

test('plain http passes only where local upstreams are allowed', () => {
  expect(() => parseEndpoint('http://127.0.0.1:3000/', false)).toThrow(
    expect.objectContaining({ code: 'bad_url' }),
  )
  expect(parseEndpoint('https://127.0.0.1:3000/', false).scheme).toBe('https')
})

test('a URL of 2,048 bytes passes and one of 2,049 does not', () => {
  const start = 'https://example.com/'
  expect(parseEndpoint(start + 'a'.repeat(2048 - start.length), false).url).toHaveLength(2048)
  expect(() => parseEndpoint(start + 'a'.repeat(2049 - start.length), false)).toThrow()
})

test('what parseEndpoint normalized it parses again to the same', () => {
  fc.assert(
    fc.property(fc.webUrl({ validSchemes: ['https'], withQueryParameters: true }), (text) => {
      const endpoint = parseEndpoint(text, false)
      expect(parseEndpoint(endpoint.url, false)).toEqual(endpoint)
    }),
  )
})

test('a destination is origin and path, without the query', () => {
  expect(destinationOf('https://example.com/mcp?token=x')).toBe('https://example.com/mcp')
  expect(destinationOf('http://127.0.0.1:3000/')).toBe('http://127.0.0.1:3000/')
})

test.each(['x', 'a'.repeat(8192), 'with space', 'é'.repeat(4096)])('takes a secret', (secret) => {
  expect(() => checkSecret(secret, 'token')).not.toThrow()
})

test.each([
  '',
  'a'.repeat(8193),
  'é'.repeat(4097),
  'a\nb',
  'a\rb',
  'a\tb',
  'a\0',
  'a\x7f',
  'a\u0085',
  '\ud800',
])('refuses the secret %j and names its field', (secret) => {
  expect(() => checkSecret(secret, 'token')).toThrow(
    expect.objectContaining({ code: 'bad_secret', field: 'token' }),
  )
})

test.each([24, 25, 26, 32, 63, 64])('takes base64 of %i bytes as a webhook secret', (size) => {
  expect(() => checkWebhookSecret(Buffer.alloc(size, 255).toString('base64'))).not.toThrow()
})

const key = Buffer.alloc(32, 251).toString('base64')

test.each([
  '',
  Buffer.alloc(23).toString('base64'),
  Buffer.alloc(65).toString('base64'),
  key.replace(/=+$/, ''),
  `${key}=`,
  key.replaceAll('+', '-'),
  `${key}\n`,
  `whsec_${key}`,
  '='.repeat(44),
])('refuses the webhook secret %j', (secret) => {
  expect(() => checkWebhookSecret(secret)).toThrow(
    expect.objectContaining({ code: 'bad_secret', field: 'secret' }),
  )
})

test('takes up to ten header names', () => {
  const names = Array.from({ length: 10 }, (_, i) => `X-Key-${i}`)
  expect(() => checkHeaderNames(names, true)).not.toThrow()
  expect(() => checkHeaderNames(['a'.repeat(64), "!#$%&'*+.^_`|~"], true)).not.toThrow()
  expect(() => checkHeaderNames([...names, 'X-Eleven'], true)).toThrow(
    expect.objectContaining({ code: 'bad_header' }),
  )
})

test.each([
  'Accept',
  'connection',
  'Content-Length',
  'content-type',
  'HOST',
  'Idempotency-Key',
  'Last-Event-ID',
  'Mcp-Session-Id',
  'mcp-',
  'Transfer-Encoding',
  '',
  'a b',
  'a:b',
  'é',
  'a\n',
  'a'.repeat(65),
])('refuses the header name %j', (name) => {
  expect(() => checkHeaderNames([name], false)).toThrow(
    expect.objectContaining({ code: 'bad_header', field: 'headers' }),
  )
})

test('refuses one name twice, whatever its case', () => {
  expect(() => checkHeaderNames(['X-Key', 'x-key'], false)).toThrow()
})

test('takes Authorization only when there is no bearer beside it', () => {
  expect(() => checkHeaderNames(['Authorization'], false)).not.toThrow()
  expect(() => checkHeaderNames(['Authorization'], true)).toThrow(
    expect.objectContaining({ code: 'bad_header' }),
  )
})
