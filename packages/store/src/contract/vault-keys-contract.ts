import type {
  Connection,
  Credential,
  KnownKey,
  OAuthFlow,
  StoredOAuthClient,
  StoredSeal,
  Webhook,
} from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleConnection, exampleCredential, exampleWebhook, newId } from './examples.ts'
import { exampleOAuthClient, exampleOAuthFlow } from './oauth-examples.ts'
import { type GetSubject, insertConnections, type Subject } from './subject.ts'

const key = (kid: string, position: number, given: Partial<KnownKey> = {}): KnownKey => ({
  kid,
  position,
  state: 'open',
  madeAt: null,
  retiredAt: null,
  ...given,
})
const insert = ({ store }: Subject, row: KnownKey) =>
  store.transact((tx) => tx.vaultKeys.insert(row))

export function vaultKeysContract(subject: GetSubject): void {
  test('lists keys from the newest, and knows each once', async () => {
    const at = subject()
    const [first, second] = [key('k1', 1, { madeAt: 5 }), key('k2', 2)]
    expect([await insert(at, first), await insert(at, second)]).toEqual([true, true])
    expect(await insert(at, key('k1', 3))).toBe(false)
    expect(await insert(at, key('k3', 2))).toBe(false)
    expect(await at.store.vaultKeys.list()).toEqual([second, first])
  })

  test('holds and locks a key as it is, and changes it', async () => {
    const { store } = subject()
    const row = key('k1', 1)
    await insert(subject(), row)
    const retired = { ...row, state: 'retired', retiredAt: 7 } as const
    await store.transact(async (tx) => {
      expect(await tx.vaultKeys.hold('k1')).toEqual(row)
      expect(await tx.vaultKeys.lock('k1')).toEqual(row)
      expect(await tx.vaultKeys.hold('nobody')).toBeUndefined()
      expect(await tx.vaultKeys.lock('nobody')).toBeUndefined()
      await tx.vaultKeys.update(retired)
      await tx.vaultKeys.update(key('nobody', 9))
      expect(await tx.vaultKeys.hold('k1')).toEqual(retired)
    })
    expect(await store.vaultKeys.list()).toEqual([retired])
  })

  test('whoever retires a key waits for who holds it, and whoever comes later sees it retired', async () => {
    const { store, rival } = subject()
    const row = key('k1', 1)
    await insert(subject(), row)
    const order: string[] = []
    const { promise: held, resolve: tellHeld } = Promise.withResolvers<void>()
    const holder = store.transact(async (tx) => {
      await tx.vaultKeys.hold('k1')
      tellHeld()
      await tx.users.list()
      order.push('written')
    })
    await held
    const retirer = rival.transact(async (tx) => {
      const found = await tx.vaultKeys.lock('k1')
      order.push('retired')
      if (found) await tx.vaultKeys.update({ ...found, state: 'retired', retiredAt: 1 })
    })
    await Promise.all([holder, retirer])
    expect(order).toEqual(['written', 'retired'])
    const late = await store.transact((tx) => tx.vaultKeys.hold('k1'))
    expect(late?.state).toBe('retired')
  })

  test('many may hold a key at once', async () => {
    const { store, rival } = subject()
    await insert(subject(), key('k1', 1))
    if (store.engine !== 'postgres') return
    await store.transact(async (tx) => {
      await tx.vaultKeys.hold('k1')
      const other = await rival.transact((its) => its.vaultKeys.hold('k1'))
      expect(other?.kid).toBe('k1')
    })
  })
}

interface Sealed {
  readonly connection: Connection
  readonly credential: Credential
  readonly webhook: Webhook
  readonly client: StoredOAuthClient
  readonly flow: OAuthFlow
}

async function insertSealed({ store }: Subject): Promise<Sealed> {
  const connection = exampleConnection({ endpointSeal: 'an endpoint', revision: 3, version: 7 })
  const { id: connectionId } = connection
  const credential = exampleCredential({ connectionId, seal: 'a credential', version: 4 })
  const webhook = exampleWebhook({ seal: 'a webhook' })
  await insertConnections(store, connection)
  await store.transact(async (tx) => {
    await tx.credentials.insert(credential)
    await tx.webhooks.insert(webhook)
  })
  const client = exampleOAuthClient({ seal: 'a client', version: 2 })
  const flow = exampleOAuthFlow({ connectionId, connectionRevision: 3, pending: 'a sign-in' })
  await store.transact(async (tx) => {
    await tx.oauth.insertClient(client)
    await tx.oauth.insertFlow(flow)
  })
  return { connection, credential, webhook, client, flow }
}

const sealsOf = ({ connection, credential, webhook, client, flow }: Sealed): StoredSeal[] => [
  {
    row: connection.id,
    place: { kind: 'endpoint', id: connection.id, scope: connection.scope, version: 3 },
    seal: 'an endpoint',
  },
  {
    row: credential.id,
    place: { kind: 'credential', id: credential.id, scope: connection.scope, version: 4 },
    seal: 'a credential',
  },
  {
    row: webhook.id,
    place: { kind: 'webhook', id: webhook.id, scope: 'org', version: 1 },
    seal: 'a webhook',
  },
  {
    row: client.id,
    place: { kind: 'oauth_client', id: client.id, scope: client.scope, version: 2 },
    seal: 'a client',
  },
  {
    row: flow.id,
    place: { kind: 'oauth_pending', id: connection.id, scope: connection.scope, version: 3 },
    seal: 'a sign-in',
  },
]

export function sealsContract(subject: GetSubject): void {
  test('gives every seal with the place its row says', async () => {
    const { store } = subject()
    for (const seal of sealsOf(await insertSealed(subject())))
      expect(await store.seals.page(seal.place.kind, '', 9)).toEqual([seal])
  })

  test('leaves out rows without a seal, and keeps drafts and disabled ones', async () => {
    const { store } = subject()
    const rows = [
      exampleConnection({ state: 'draft', endpointSeal: 'a' }),
      exampleConnection({ state: 'disabled', endpointSeal: 'b' }),
      exampleConnection({ state: 'deleted', endpointSeal: null }),
    ]
    await insertConnections(store, ...rows)
    const connectionId = rows[0]?.id ?? newId('connection')
    await store.transact((tx) =>
      tx.credentials.insert(exampleCredential({ connectionId, state: 'revoked', seal: '' })),
    )
    const found = await store.seals.page('endpoint', '', 9)
    expect(found.map(({ seal }) => seal)).toEqual(['a', 'b'])
    expect(await store.seals.page('credential', '', 9)).toEqual([])
  })

  test('gives seals in pages, by id', async () => {
    const { store } = subject()
    const rows = [1, 2, 3, 4, 5].map((n) => exampleConnection({ endpointSeal: `seal ${n}` }))
    await insertConnections(store, ...rows.toReversed())
    const ids: string[] = []
    for (let after = ''; ; ) {
      const page = await store.seals.page('endpoint', after, 2)
      ids.push(...page.map(({ row }) => row))
      after = page.at(-1)?.row ?? ''
      if (page.length < 2) break
    }
    expect(ids).toEqual(rows.map(({ id }) => id).toSorted())
  })
}

export function sealReplacementContract(subject: GetSubject): void {
  test('replaces a seal where it still is the one that was read, and nothing beside it', async () => {
    const { store } = subject()
    const sealed = await insertSealed(subject())
    for (const seal of sealsOf(sealed)) {
      const replace = (given: StoredSeal, by: string) =>
        store.transact((tx) => tx.seals.replace(given, by))
      expect(await replace({ ...seal, seal: 'another' }, 'new')).toBe(false)
      expect(await replace({ ...seal, row: 'nowhere' }, 'new')).toBe(false)
      expect(await store.seals.page(seal.place.kind, '', 9)).toEqual([seal])
      expect(await replace(seal, 'new')).toBe(true)
      expect(await replace(seal, 'newer')).toBe(false)
    }
    const { connection, credential, webhook, client } = sealed
    const changed = { ...connection, endpointSeal: 'new', version: 8 }
    expect(await store.connections.get(connection.id)).toEqual(changed)
    expect(await store.credentials.get(credential.id)).toEqual({ ...credential, seal: 'new' })
    expect(await store.webhooks.get(webhook.id)).toEqual({ ...webhook, seal: 'new' })
    expect(await store.oauth.client(client.id)).toEqual({ ...client, seal: 'new' })
  })

  test('tells sign-ins of one connection apart', async () => {
    const { store } = subject()
    const connection = exampleConnection()
    await insertConnections(store, connection)
    const flows = ['one', 'two'].map((pending) =>
      exampleOAuthFlow({ connectionId: connection.id, pending }),
    )
    await store.transact(async (tx) => {
      for (const flow of flows) await tx.oauth.insertFlow(flow)
    })
    const [first, second] = await store.seals.page('oauth_pending', '', 9)
    if (!first || !second) throw new Error('two were inserted')
    expect([first.place, first.row]).not.toEqual([second.place, second.row])
    expect(first.place).toEqual(second.place)
    expect(await store.seals.page('oauth_pending', first.row, 9)).toEqual([second])
    await store.transact((tx) => tx.seals.replace(second, 'new'))
    const seals = (await store.seals.page('oauth_pending', '', 9)).map(({ seal }) => seal)
    expect(seals).toEqual([first.seal, 'new'])
  })

  test('a change that was read before a seal was replaced does not bring the old one back', async () => {
    const { store } = subject()
    const sealed = await insertSealed(subject())
    const { connection, credential } = sealed
    await store.transact(async (tx) => {
      for (const seal of sealsOf(sealed)) await tx.seals.replace(seal, 'new')
    })
    const stale = await store.transact(async (tx) => {
      const broken = { ...credential, state: 'broken' } as const
      return [
        await tx.connections.update({ ...connection, version: 8 }, 7),
        await tx.credentials.update(broken, 4),
        await tx.credentials.update({ ...broken, seal: 'new' }, 4),
        await tx.credentials.update({ ...broken, seal: 'next', version: 5 }, 4),
      ]
    })
    expect(stale).toEqual(['stale', false, true, true])
  })
}
