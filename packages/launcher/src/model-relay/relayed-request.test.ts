import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { modelUpstream } from './model-upstream.ts'
import { relayedPath, relayedRequest } from './relayed-request.ts'

const upstream = modelUpstream('anthropic')
const asked = (headers: Record<string, string>, more: Partial<IncomingMessage> = {}) =>
  ({ method: 'POST', url: '/v1/messages', headers, ...more }) as IncomingMessage
const refused = expect.objectContaining({ code: 'model_refused' })

test.each([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-goog-iam-authorization-token',
  'x-amz-security-token',
  'api_key',
  'cookie',
  'cookie2',
  'x-client-secret',
  'x-goog-user-project',
  'x-http-method-override',
  'x-method-override',
])('what a guest sends as %s is taken off', (name) => {
  const { headers } = relayedRequest(asked({ [name]: 'of the guest' }), upstream, 'K')
  expect(Object.values(headers)).not.toContain('of the guest')
  expect(headers['x-api-key']).toBe('K')
})

test('what is not of who asks passes as it was sent', () => {
  const own = {
    accept: 'text/event-stream',
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'a,b',
    'content-type': 'application/json',
    'user-agent': 'agent/1',
    'x-stainless-retry-count': '0',
    'x-goog-api-client': 'gl-node/24',
  }
  const { headers } = relayedRequest(asked({ ...own, 'content-length': '9' }), upstream, 'K')
  expect(headers).toEqual({
    ...own,
    'content-length': '9',
    host: 'api.anthropic.com',
    'x-api-key': 'K',
  })
})

test('headers of one connection, and those it names, stay with it', () => {
  const { headers } = relayedRequest(
    asked({
      connection: 'close, X-Odd',
      'x-odd': '1',
      te: 'trailers',
      upgrade: 'h2c',
      host: 'evil',
    }),
    upstream,
    'K',
  )
  expect(headers).toEqual({ host: 'api.anthropic.com', 'x-api-key': 'K' })
})

test('each provider gets the key where it looks for it', () => {
  const of = (name: 'openai' | 'google', url: string) =>
    relayedRequest(asked({}, { url }), modelUpstream(name), 'K').headers
  expect(of('openai', '/v1/responses')).toMatchObject({ authorization: 'Bearer K' })
  expect(of('google', '/v1beta/models/m:generateContent')).toMatchObject({ 'x-goog-api-key': 'K' })
})

test.each(['GET', 'HEAD', 'POST'])('%s passes', (method) => {
  expect(relayedRequest(asked({}, { method }), upstream, 'K').method).toBe(method)
})

test.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'])('%s does not', (method) => {
  expect(() => relayedRequest(asked({}, { method }), upstream, 'K')).toThrow(refused)
})

test.each([
  '/v1/messages',
  '/v1/models/',
  '/v1/files/file-1/content',
  '/v1/messages?beta=true',
  '/v1/models/m:streamGenerateContent?alt=sse&pageToken=2',
  '/v1/a%20b',
])('%s passes unchanged', (path) => {
  expect(relayedPath(path, '/v1/')).toBe(path)
})

test.each([
  '/',
  '/v1',
  '/v2/messages',
  '/V1/messages',
  '//v1/messages',
  '/v1//messages',
  '/v1/../admin',
  '/v1/./messages',
  '/v1/%2e%2e/admin',
  '/v1/%2E./admin',
  '/v1/..;/admin',
  '/v1/..%2fadmin',
  '/v1/a%5cb',
  '/v1/a\\b',
  '/v1/%00',
  '/v1/%252e%252e/admin',
  '/v1/%',
  '/v1/a#b',
  '/%761/messages',
  'http://other.example/v1/messages',
  '*',
  'v1/messages',
  '/v1/messages?a=%00\u0000',
])('%s does not', (path) => {
  expect(() => relayedPath(path, '/v1/')).toThrow(refused)
})

test.each([
  ['/v1/m?key=G', '/v1/m'],
  ['/v1/m?a=1&key=G&b=2', '/v1/m?a=1&b=2'],
  ['/v1/m?Key=G', '/v1/m'],
  ['/v1/m?%6bey=G', '/v1/m'],
  ['/v1/m?$key=G', '/v1/m'],
  ['/v1/m?+key=G', '/v1/m'],
  ['/v1/m?api_key=G&api-key=G&access_token=G&oauth_token=G', '/v1/m'],
  ['/v1/m?$httpMethod=DELETE', '/v1/m'],
  ['/v1/m?monkey=1', '/v1/m?monkey=1'],
])('the query of %s goes on as %s', (given, sent) => {
  expect(relayedPath(given, '/v1/')).toBe(sent)
})
