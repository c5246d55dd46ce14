import { countSeals, type StuckSeal } from '@sallyport/core'
import {
  type Answer,
  type ConnectionId,
  type CredentialId,
  isId,
  type OAuthClientId,
  type WebhookId,
} from '@sallyport/protocol'
import type { KeyView } from '../vault/key-keeper.ts'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTimeOrNull } from './view-time.ts'

type Keys = Answer<'keys.show'>
type Key = Keys['items'][number]

/** Some are enough to begin with; the number of all is beside them. */
const stuckAtMost = 20

export function vaultHandlers(deps: ApiDeps): HandlersOf<'vault' | 'keys'> {
  return {
    'vault.show': async () => {
      const { kid, jwk } = deps.vault.view().sealing
      return { kid, jwk, localUpstreams: deps.destinations.localAllowed }
    },
    'keys.show': () => showKeys(deps),
    'keys.rotate': async () => {
      await deps.vault.rotate()
      return showKeys(deps)
    },
  }
}

/** Throws `worker_down`. */
export async function showKeys({ store, vault }: Pick<ApiDeps, 'store' | 'vault'>): Promise<Keys> {
  const view = vault.view()
  const seals = await countSeals(store)
  const items = keysOf(view, seals)
  const left = items.reduce((sum, { state, seals }) => (state === 'open' ? sum + seals : sum), 0)
  const isOver = items.every(({ state }) => state !== 'open')
  const isStuck = view.stuck.length > 0 && view.stuck.length >= left
  return {
    source: view.held.source,
    items,
    rotation: {
      state: isOver ? 'done' : isStuck ? 'stuck' : 'running',
      left,
      stuck: await named(store, view.stuck.slice(0, stuckAtMost)),
    },
  }
}

async function named(
  store: ApiDeps['store'],
  stuck: readonly StuckSeal[],
): Promise<Keys['rotation']['stuck']> {
  return Promise.all(
    stuck.map(async ({ kind, id, code }) => ({
      kind,
      id,
      code,
      name: await nameOf(store, kind, id),
    })),
  )
}

async function nameOf(
  store: ApiDeps['store'],
  kind: StuckSeal['kind'],
  id: string,
): Promise<string | null> {
  if (kind === 'webhook') return (await store.webhooks.get(id as WebhookId))?.name ?? null
  const connectionId = await connectionOf(store, kind, id)
  const connection = connectionId && (await store.connections.get(connectionId))
  return connection?.name ?? null
}

async function connectionOf(
  store: ApiDeps['store'],
  kind: Exclude<StuckSeal['kind'], 'webhook'>,
  id: string,
): Promise<ConnectionId | undefined> {
  switch (kind) {
    case 'endpoint':
    case 'oauth_pending':
      return id as ConnectionId
    case 'credential':
      return (await store.credentials.get(id as CredentialId))?.connectionId
    case 'oauth_client':
      return ofConnection((await store.oauth.client(id as OAuthClientId))?.connectionId)
  }
}

/** A client may be a service's, or be there for every connection. */
function ofConnection(id: string | null | undefined): ConnectionId | undefined {
  return id && isId('connection', id) ? (id as ConnectionId) : undefined
}

/** Known ones, the newest first, then those that only seals know. */
function keysOf({ held, known, sealing }: KeyView, seals: ReadonlyMap<string, number>): Key[] {
  const isHeld = (kid: string) => held.keys.some((key) => key.kid === kid)
  const stateOf = (kid: string, state: 'open' | 'retired'): Key['state'] => {
    if (kid === sealing.kid) return 'sealing'
    return state === 'open' && !isHeld(kid) ? 'missing' : state
  }
  const strangers = [...seals.keys()].filter((kid) => !known.some((key) => key.kid === kid))
  return [
    ...known.map((key) => ({ ...key, state: stateOf(key.kid, key.state) })),
    ...strangers.map((kid) => ({
      kid,
      state: stateOf(kid, 'open'),
      madeAt: null,
      retiredAt: null,
    })),
  ].map(({ kid, state, madeAt, retiredAt }) => ({
    id: kid,
    state,
    fingerprint: `SHA256:${kid}`,
    madeAt: viewTimeOrNull(madeAt),
    retiredAt: viewTimeOrNull(retiredAt),
    seals: seals.get(kid) ?? 0,
  }))
}
