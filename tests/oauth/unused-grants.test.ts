/** What an authorization server gave, and nobody keeps: taken back and told, unless that would end what is in use. */
import {
  beginSignIn,
  finishSignIn,
  Journal,
  type JournalDeps,
  type OAuthDeps,
  type Store,
} from '@sallyport/core'
import type { CredentialId, OAuthClientId } from '@sallyport/protocol'
import { type JournalEvent, type OAuthGranted, oauthFlowMs, seal } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { sampleSigner } from '../../packages/protocol/src/journal/sample-journal.ts'
import { addConnection, newWorld } from '../authority/world.ts'

const signIn = {
  redirectUri: 'http://127.0.0.1:1/oauth/callback',
  clientMetadataUrl: undefined,
  acceptsIssuer: false,
}
type Account = OAuthGranted['account']

/** A connection that signs in. `meanwhile` happens after the grant was given, before it is published. */
async function signingIn(
  account: Account,
  meanwhile: () => Promise<unknown> = async () => undefined,
) {
  const world = await newWorld()
  const { store, admin, key } = world
  const { id, scope, revision } = await addConnection(world, admin)
  const clientId = world.deps.ids('oauthClient') as OAuthClientId
  const place = { kind: 'oauth_pending', id, scope, version: revision } as const
  const pending = seal({ any: 'thing' }, place, key)
  const put = (grantType: 'authorization_code' | 'client_credentials') =>
    store.transact((tx) =>
      tx.oauth.putConnection({
        ...{ connectionId: id, grantType, issuer: null, server: null },
        ...{ scopeWanted: [], scopeRequired: [], places: [] },
        clientId: grantType === 'client_credentials' ? clientId : null,
      }),
    )
  await store.transact((tx) =>
    tx.oauth.insertClient({
      ...{ id: clientId, connectionId: id, scope, version: 1, issuer: null, seal: pending },
      createdAt: 0,
    }),
  )
  const ended: string[] = []
  let state = ''
  let fresh = ''
  const give = async (): Promise<OAuthGranted> => {
    const row = { kind: 'credential', id: fresh, scope, version: 1 } as const
    await meanwhile()
    return {
      ...{ kind: 'granted', account, credentialId: fresh, credentialVersion: 1 },
      seal: seal({ token: 't1' }, row, key),
      clear: { bearer: true, headerNames: [], oauth: { issuerHost: 'x', refreshable: true } },
      places: [],
    }
  }
  const journalOn = (on: JournalDeps['store']): Journal => {
    const { ids } = world.deps
    return new Journal({
      ...{ store: on, ids, now: Date.now, instance: ids('instance'), signer: sampleSigner() },
      ended: (grants) => ended.push(...grants.map(({ credential }) => credential.id)),
    })
  }
  const deps: OAuthDeps = {
    ...world.deps,
    journal: journalOn(store),
    instance: world.deps.ids('instance'),
    oauth: {
      begin: async (_target, request) => {
        fresh = request.freshCredentialId
        if (request.grant === 'client_credentials') return give()
        state = request.state
        const issuer = 'https://login.example'
        const expiresAt = Date.now() + oauthFlowMs
        return { kind: 'begun', authorizeUrl: issuer, pending, expiresAt, issuer, places: [] }
      },
      finish: give,
    },
  }
  const told = async () => {
    const pages = await store.journal.pages(0, Number.MAX_SAFE_INTEGER, 100)
    return pages
      .flatMap(({ text }) => JSON.parse(text).events as JournalEvent[])
      .map(({ kind, code }) => (code ? `${kind} ${code}` : kind))
      .filter((kind) => kind.startsWith('sign_in'))
  }
  return {
    ...{ store, ended, told },
    fresh: () => fresh as CredentialId,
    byPerson: async () => {
      await put('authorization_code')
      await beginSignIn(deps, admin, id, signIn)
      return finishSignIn(deps, { state, code: 'code-1' })
    },
    byClient: async (on: JournalDeps['store'] = store) => {
      await put('client_credentials')
      return beginSignIn({ ...deps, journal: journalOn(on) }, admin, id, signIn)
    },
    /** An edit that may lead to another server. */
    move: () =>
      store.transact(async (tx) => {
        const before = await tx.connections.get(id)
        if (!before) throw new Error('no connection')
        const { version } = before
        const after = { ...before, revision: revision + 1, version: version + 1 }
        return tx.connections.update(after, version)
      }),
  }
}

test.each<[account: Account, isRevoked: boolean]>([
  ['same', false],
  ['unproved', false],
  ['first', true],
  ['other', true],
])(
  'a sign-in of the account "%s" that is refused at its end is revoked: %s',
  async (account, is) => {
    const one = await signingIn(account, () => one.move())
    expect(await one.byPerson()).toMatchObject({ state: 'failed' })
    expect(one.ended).toEqual(is ? [one.fresh()] : [])
  },
)

test('client credentials that cannot be published are taken back, and the journal tells it', async () => {
  const one = await signingIn('first', () => one.move())
  await expect(one.byClient()).rejects.toMatchObject({ code: 'conflict' })
  expect(one.ended).toEqual([one.fresh()])
  expect(await one.told()).toEqual(['sign_in_refused conflict'])
  // Control: where nothing happens meanwhile they are kept.
  const other = await signingIn('first')
  expect(await other.byClient()).toMatchObject({ flow: { state: 'done' }, authorizeUrl: null })
  expect(other.ended).toEqual([])
  expect(await other.told()).toEqual(['sign_in_completed'])
})

test('client credentials whose commit got no answer, and is there, are not taken back', async () => {
  const one = await signingIn('first')
  let isLost = false
  const transact: Store['transact'] = async (work, options) => {
    const result = await one.store.transact(work, options)
    if (isLost) return result
    isLost = true
    throw new Error('no answer')
  }
  await expect(one.byClient({ transact } as Store)).rejects.toThrow('no answer')
  expect(one.ended).toEqual([])
  expect(await one.store.credentials.get(one.fresh())).toMatchObject({ state: 'active' })
  expect(await one.told()).toEqual(['sign_in_completed'])
})
