import { type ConnectionId, isConnectionName, SallyportError } from '@sallyport/protocol'
import { discardDrafts, supersedePublished } from '../catalog/drafts.ts'
import { replaceCredential } from '../credential/replace-credential.ts'
import type { Deps } from '../deps.ts'
import { endCredential } from '../oauth/ended-grant.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'
import {
  checkEndpoint,
  type Destinations,
  type GivenCredential,
  type GivenEndpoint,
} from './check-secrets.ts'
import type { Connection } from './connection.ts'
import { lockConnection } from './connection-access.ts'
import { type NewConnection, withLimits } from './create-connection.ts'
import { saveConnection } from './save-connection.ts'

/** What is not given stays. */
export interface ConnectionChange {
  readonly version?: number | undefined
  readonly name?: string | undefined
  readonly required?: boolean | undefined
  readonly limits?: NewConnection['limits'] | undefined
  readonly endpoint?: GivenEndpoint | undefined
  /** null takes it away. */
  readonly credential?: GivenCredential | null | undefined
}

/**
 * Another endpoint may be another upstream: it disables the connection, raises its revision, drops the published
 * catalog, and needs the credential again (`credential_missing`), because the old seal names the old destination.
 */
export function editConnection(
  { journal }: Deps,
  actor: Actor,
  id: ConnectionId,
  change: ConnectionChange,
  destinations: Destinations,
): Promise<Connection> {
  return journal.transact(async (tx, page) => {
    const confirmed = await confirmActor(tx, actor)
    const before = await lockConnection(tx, confirmed, id)
    if (change.version !== undefined && change.version !== before.version)
      throw new SallyportError('conflict')
    if (change.name !== undefined && !isConnectionName(change.name))
      throw new SallyportError('bad_name', { field: 'name' })
    await fitOAuth(tx, id, change)
    const plain: Connection = {
      ...before,
      name: change.name ?? before.name,
      required: change.required ?? before.required,
      limits: withLimits(before.limits, change.limits ?? {}),
    }
    if (change.endpoint) await holdSealKey(tx, change.endpoint.seal)
    const moved = change.endpoint
      ? moveEndpoint(plain, change.endpoint, change, destinations)
      : plain
    if (change.credential !== undefined && change.credential?.id !== before.credentialId)
      page.end(await endCredential(tx, page, { connection: before, by: confirmed.userId }))
    const after =
      change.credential === undefined
        ? moved
        : await replaceCredential(tx, moved, change.credential)
    if (change.endpoint) {
      await discardDrafts(tx, id)
      await supersedePublished(tx, id)
    }
    return saveConnection(tx, before, after)
  })
}

/** A credential of OAuth is signed in for, not typed; another endpoint may have another authorization server. */
async function fitOAuth(
  tx: Tx,
  id: ConnectionId,
  { endpoint, credential }: ConnectionChange,
): Promise<void> {
  const oauth = await tx.oauth.connection(id)
  if (!oauth) return
  if (credential) throw new SallyportError('bad_request', { field: 'credential' })
  if (endpoint) await tx.oauth.putConnection({ ...oauth, issuer: null, server: null })
}

function moveEndpoint(
  before: Connection,
  endpoint: GivenEndpoint,
  change: ConnectionChange,
  destinations: Destinations,
): Connection {
  const revision = before.revision + 1
  checkEndpoint(endpoint, { ...before, revision }, destinations)
  if (before.credentialId !== null && change.credential === undefined)
    throw new SallyportError('credential_missing', { field: 'credential' })
  return {
    ...before,
    revision,
    state: before.everEnabled ? 'disabled' : 'draft',
    endpointSeal: endpoint.seal,
    endpointClear: endpoint.clear,
    publishedId: null,
    health: { state: 'unknown', code: null, at: null },
  }
}
