import type { WebhookId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import {
  enabledConnection,
  listingOf,
  newWorld,
  type World,
} from '../../../../tests/authority/world.ts'
import { recordHealth } from '../connection/record-health.ts'
import { recordListing } from '../connection/record-listing.ts'
import { removeConnection } from '../connection/remove-connection.ts'
import { disconnect } from '../oauth/disconnect.ts'
import type { WebhookDelivery } from '../webhook/webhook.ts'
import { tellConditions } from './tell-conditions.ts'

let now: number
async function world(): Promise<World> {
  now = 1_800_000_000_000
  const w = await newWorld(undefined, () => now)
  for (const events of [['connection.health'], ['approval.requested']] as const)
    await w.store.transact(async (tx) => {
      const id: WebhookId = w.deps.ids('webhook')
      await tx.webhooks.insert({
        ...{ id, name: events[0], seal: 's', events, createdBy: w.admin.userId },
        clear: { scheme: 'https', host: 'pager.example', port: 443 },
        ...{ createdAt: now, lastDeliveredAt: null, lastFailure: null, goneAt: null },
      })
    })
  return w
}

const told = async ({ store }: World): Promise<unknown[]> => {
  const all: WebhookDelivery[] = await store.transact((tx) => tx.webhooks.take(now, now, 99))
  return all.map(({ text }) => JSON.parse(text))
}

test('a change is told once, with the state of before, and to whom it concerns', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin, { token: 't0ken' })
  const { id, revision } = connection
  await recordHealth(w.store, { id, revision, code: null })
  await tellConditions(w.deps)
  expect(await told(w)).toEqual([])
  now += 5
  await recordHealth(w.store, { id, revision, code: 'upstream_dns' })
  await tellConditions(w.deps)
  await tellConditions(w.deps)
  expect(await told(w)).toEqual([
    {
      type: 'connection.health',
      timestamp: new Date(now).toISOString(),
      data: {
        ...{ connectionId: id, connection: 'docs', scope: 'org' },
        ...{ condition: 'unreachable', code: 'upstream_dns', before: 'ok' },
      },
    },
  ])
  // Another class of the same is not told again.
  await recordHealth(w.store, { id, revision, code: 'upstream_timeout' })
  await tellConditions(w.deps)
  expect(await told(w)).toHaveLength(1)
})

test('of two gateways that notice at once, one tells', async () => {
  const w = await world()
  const { id, revision } = await enabledConnection(w, w.admin)
  await recordHealth(w.store, { id, revision, code: null })
  await tellConditions(w.deps)
  await recordHealth(w.store, { id, revision, code: 'upstream_tls' })
  await Promise.all([tellConditions(w.deps), tellConditions(w.deps), tellConditions(w.deps)])
  expect(await told(w)).toHaveLength(1)
})

test('what nobody has looked at is not told, and what comes after it is compared with before', async () => {
  const w = await world()
  const { id, revision } = await enabledConnection(w, w.admin, { token: 't0ken' })
  await tellConditions(w.deps)
  expect(await w.store.conditions.list()).toEqual([])
  await recordHealth(w.store, { id, revision, code: null })
  await tellConditions(w.deps)
  await disconnect(w.deps, w.admin, id)
  await tellConditions(w.deps)
  expect(await told(w)).toMatchObject([{ data: { condition: 'revoked', before: 'ok' } }])
})

test('drift is told, and a connection that is gone is not', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin, {}, listingOf('get_page'))
  const { id, revision, credentialId } = connection
  await recordHealth(w.store, { id, revision, code: null })
  await tellConditions(w.deps)
  const asked = {
    connectionId: id,
    connectionRevision: revision,
    credentialId,
    credentialVersion: null,
  }
  await recordListing(w.store, asked, listingOf('get_page', 'wipe'))
  await tellConditions(w.deps)
  expect(await told(w)).toMatchObject([{ data: { condition: 'drift', before: 'ok' } }])
  await removeConnection(w.deps, w.admin, id)
  await recordHealth(w.store, { id, revision, code: 'upstream_tls' })
  await tellConditions(w.deps)
  expect(await told(w)).toHaveLength(1)
})
