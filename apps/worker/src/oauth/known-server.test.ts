import { SallyportError } from '@sallyport/protocol'
import type { OAuthBundle } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { checkServer, grantPlaces, originsOfServer, serverNow } from './known-server.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { ServerCache } from './server-cache.ts'

const issuer = 'https://login.example'
const hourMs = 3_600_000

/** An authorization server that names its token endpoint at `host`, and is asked through `read`. */
function world() {
  const publish = () => ({
    ...{ issuer, authorization_endpoint: `${issuer}/authorize` },
    token_endpoint: `https://${state.host}/token`,
  })
  const state = { at: 0, host: 'login.example', asked: 0, read: async () => publish() }
  const http = {
    localAllowed: false,
    find: () => {
      state.asked++
      return state.read()
    },
    aside: () => http,
  } as unknown as OAuthHttp
  const servers = new ServerCache({ monotonic: () => state.at })
  return Object.assign(state, { finding: { http, servers }, well: state.read })
}
const bundle = { issuer, tokenEndpoint: `${issuer}/token` } as OAuthBundle
const away = async () => {
  throw new SallyportError('upstream_http_5xx')
}

test('a look that fails makes nothing younger: the sign-in after it reads anew, and sees the change', async () => {
  const one = world()
  const agreed = originsOfServer(await serverNow(one.finding, issuer))
  one.at = 2 * hourMs
  one.read = away
  // What was read before still leads the refresh.
  expect(await grantPlaces(one.finding, bundle, 'tokenEndpoint')).toMatchObject({
    tokenEndpoint: `${issuer}/token`,
  })
  one.at += 30_000
  Object.assign(one, { read: one.well, host: 'evil.example' })
  const now = originsOfServer(await serverNow(one.finding, issuer))
  expect(() => checkServer(now, agreed)).toThrow(new SallyportError('oauth_server_changed'))
})

test('after a look that failed the next one waits for a minute, and not for an hour', async () => {
  const one = world()
  await serverNow(one.finding, issuer)
  one.at = 2 * hourMs
  one.read = away
  const look = async () => {
    const before = one.asked
    await grantPlaces(one.finding, bundle, 'tokenEndpoint').catch(() => undefined)
    return one.asked > before
  }
  expect(await look()).toBe(true)
  one.at += 59_999
  expect(await look()).toBe(false)
  one.at += 1
  one.read = one.well
  expect(await look()).toBe(true)
  // Control: it was read, which is good for an hour.
  one.at += hourMs - 1
  expect(await look()).toBe(false)
})

test('a look that fails leaves what a sign-in read meanwhile', async () => {
  const one = world()
  await serverNow(one.finding, issuer)
  one.at = 2 * hourMs
  const { promise, reject } = Promise.withResolvers<never>()
  one.read = () => promise
  const refresh = grantPlaces(one.finding, bundle, 'tokenEndpoint')
  Object.assign(one, { read: one.well, host: 'evil.example' })
  await serverNow(one.finding, issuer)
  reject(new SallyportError('upstream_http_5xx'))
  await expect(refresh).rejects.toMatchObject({ code: 'oauth_server_changed' })
})
