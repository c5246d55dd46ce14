import { type ConnectionId, type CredentialId, isId, type OAuthClientId } from '@sallyport/protocol'
import { recordHealth } from '../connection/record-health.ts'
import type { Store } from '../store.ts'
import type { StoredSeal } from './seal-store.ts'
import { kidOf, pagesOfSeals } from './stored-seals.ts'

/**
 * Connections whose secrets are sealed to a retired key, as after a backup was restored: their health says so, before
 * anybody calls in vain.
 */
export async function noteLostSeals(store: Store, retired: ReadonlySet<string>): Promise<void> {
  for await (const page of pagesOfSeals(store)) {
    for (const { place, seal } of page) {
      const id = retired.has(kidOf(seal) ?? '') ? await connectionOf(store, place) : undefined
      const connection = id && (await store.connections.get(id))
      if (!connection) continue
      const { revision } = connection
      await recordHealth(store, { id: connection.id, revision, code: 'seal_key_retired' })
    }
  }
}

async function connectionOf(
  store: Store,
  { kind, id }: StoredSeal['place'],
): Promise<ConnectionId | undefined> {
  switch (kind) {
    case 'endpoint':
      return id as ConnectionId
    case 'credential':
      return (await store.credentials.get(id as CredentialId))?.connectionId
    case 'webhook':
    case 'oauth_pending':
      return undefined
    case 'oauth_client': {
      const owner = (await store.oauth.client(id as OAuthClientId))?.connectionId
      return owner && isId('connection', owner) ? (owner as ConnectionId) : undefined
    }
  }
}
