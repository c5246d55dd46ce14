import type { EndedGrant, OAuthTarget } from '@sallyport/core'
import type { OAuthFinish, OAuthGranted } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { addConnection, newWorld } from '../../../../tests/authority/world.ts'
import { DeniedOAuth } from './denied-oauth.ts'
import { DenyDesk } from './deny-desk.ts'

const granted: OAuthGranted = {
  ...{ kind: 'granted', account: 'first', credentialId: 'crd_fresh', credentialVersion: 1 },
  ...{ seal: 'header..iv.text.tag', clear: { bearer: true, headerNames: [] } },
  places: [{ scheme: 'https', host: 'login.example.com', port: 443 }],
}
const request: OAuthFinish = { state: 'state', pending: 'pending' }

/** `settles`: what is to be denied comes into force. */
async function signIn(settles: boolean, account: OAuthGranted['account'] = 'first') {
  let now = 10_000
  const world = await newWorld(undefined, () => now)
  const connection = await addConnection(world, world.admin)
  await world.store.transact((tx) =>
    tx.oauth.putConnection({
      ...{ connectionId: connection.id, grantType: 'authorization_code', clientId: null },
      ...{ issuer: null, server: null, scopeWanted: [], scopeRequired: [], places: [] },
    }),
  )
  const desk = new DenyDesk({
    ...world.deps,
    inFlight: { settleSession: async () => {} },
    clock: () => now,
    pause: async (ms) => {
      now += ms
    },
  })
  const unused: EndedGrant[] = []
  const oauth = new DeniedOAuth({
    worker: {
      begin: async () => ({ ...granted, account }),
      finish: async () => ({ ...granted, account }),
      revoke: async () => ({ kind: 'revoked' }),
    },
    store: world.store,
    denySets: { changed: () => {}, settle: async () => (settles ? desk.settle() : undefined) },
    revoker: { revoke: (grants) => unused.push(...grants) },
    now: () => now,
  })
  const target: OAuthTarget = { connection, credential: undefined }
  return { oauth, target, unused, store: world.store }
}

test('a credential is given on once its places are denied, and nothing is taken back', async () => {
  const { oauth, target, unused, store } = await signIn(true)
  expect(await oauth.finish(target, request)).toEqual(granted)
  const denied = (await store.denials.published())?.entries
  expect(denied).toContainEqual({ host: 'login.example.com', port: 443 })
  expect(unused).toEqual([])
})

test.each([
  ['begin', 'first'],
  ['finish', 'first'],
  ['finish', 'other'],
  ['finish', 'same'],
  ['finish', 'unproved'],
] as const)(
  'where they are not, "%s" is refused, and what was given to the %s account is to be revoked, unless it is in use',
  async (act, account) => {
    const { oauth, target, unused } = await signIn(false, account)
    const asked =
      act === 'finish' ? oauth.finish(target, request) : oauth.begin(target, {} as never)
    await expect(asked).rejects.toMatchObject({ code: 'deny_set_pending' })
    const { id } = target.connection
    const credential = { id: 'crd_fresh', version: 1 }
    expect(unused).toMatchObject([{ connection: { id }, credential, account }])
  },
)
