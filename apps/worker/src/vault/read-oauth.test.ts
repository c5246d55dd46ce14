import { expect, test } from 'vitest'
import { readCredential } from './read-secrets.ts'

const bundle = {
  grant: 'authorization_code',
  refreshToken: 'rt-1',
  expiresAt: 1_000,
  issuer: 'https://login.example/tenant1',
  tokenEndpoint: 'https://login.example/token',
  client: { clientId: 'c', authMethod: 'none' },
  resource: 'https://mcp.example/mcp',
  agreedScope: 'a b',
  oauthScope: 'a',
  account: { ids: { sub: 'alice' }, label: 'Alice' },
}
const destinations = ['https://mcp.example/mcp']
const read = (oauth: unknown, token: string | undefined = 'at-12345678') =>
  readCredential({ headers: [], destinations, oauth, ...(token === undefined ? {} : { token }) })

test('a bundle is a bearer that ends, with its account and scope beside it', () => {
  expect(read(bundle)).toMatchObject({
    headers: ['authorization', 'Bearer at-12345678'],
    expiresAt: 1_000,
    destinations,
    clear: {
      bearer: true,
      headerNames: [],
      oauth: {
        issuerHost: 'login.example',
        refreshable: true,
        expiresAt: 1_000,
        account: 'Alice',
        oauthScope: 'a',
      },
    },
  })
})

test('neither refresh token nor client stays with what was opened', () => {
  const opened = JSON.stringify(read(bundle))
  expect(opened).not.toContain('rt-1')
  expect(opened).not.toContain('clientId')
})

test('what is not known is left out', () => {
  const { refreshToken, expiresAt, oauthScope, account, ...rest } = bundle
  expect(read(rest).clear.oauth).toEqual({ issuerHost: 'login.example', refreshable: false })
  expect(read({ ...rest, grant: 'client_credentials' }).clear.oauth?.refreshable).toBe(true)
})

test.each<[string, unknown]>([
  ['nothing', null],
  ['text', 'bundle'],
  ['another grant', { ...bundle, grant: 'password' }],
  ['no issuer', { ...bundle, issuer: undefined }],
  ['an issuer that is no URL', { ...bundle, issuer: 'login' }],
  ['no token endpoint', { ...bundle, tokenEndpoint: 7 }],
  ['no resource', { ...bundle, resource: undefined }],
  ['no client', { ...bundle, client: null }],
  ['a client without a method', { ...bundle, client: { clientId: 'c' } }],
  ['a life that is no number', { ...bundle, expiresAt: '1000' }],
  ['a refresh token that is no text', { ...bundle, refreshToken: {} }],
  ['an account that is nobody', { ...bundle, account: null }],
  ['an account of objects', { ...bundle, account: { ids: { sub: {} } } }],
])('%s is no bundle', (_what, oauth) => {
  expect(() => read(oauth)).toThrow(expect.objectContaining({ code: 'seal_unreadable' }))
})

test('a bundle without its access token does not open', () => {
  const without = { headers: [], destinations, oauth: bundle }
  expect(() => readCredential(without)).toThrow(
    expect.objectContaining({ code: 'seal_unreadable' }),
  )
})
