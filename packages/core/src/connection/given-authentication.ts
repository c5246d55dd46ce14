import { type OAuthClientId, SallyportError } from '@sallyport/protocol'
import { placeProblem, readSealHeader } from '@sallyport/protocol/node'
import type { OAuthGrant } from '../oauth/oauth.ts'
import type { Tx } from '../store.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'
import type { Connection } from './connection.ts'

/** That a connection gets its credential from an authorization server, and the client a person registered there. */
export interface GivenAuthentication {
  readonly grant: OAuthGrant
  readonly scopeWanted: readonly string[]
  readonly client?:
    | { readonly id: OAuthClientId; readonly seal: string; readonly issuer?: string | undefined }
    | undefined
}

/** Throws `bad_request` for client credentials without a client, `seal_*`, and `conflict` when the client's id is in use. */
export async function insertAuthentication(
  tx: Tx,
  { id: connectionId, scope }: Connection,
  { grant, scopeWanted, client }: GivenAuthentication,
): Promise<void> {
  if (grant === 'client_credentials' && !client)
    throw new SallyportError('bad_request', { field: 'authentication' })
  if (client) {
    const place = { kind: 'oauth_client', id: client.id, scope, version: 1 } as const
    const problem = placeProblem(readSealHeader(client.seal).sallyport, place)
    if (problem) throw new SallyportError(problem, { field: 'authentication' })
    await holdSealKey(tx, client.seal)
    const { id, seal, issuer = null } = client
    const createdAt = await tx.now()
    const row = { id, connectionId, scope, version: 1, issuer, seal, createdAt }
    if (!(await tx.oauth.insertClient(row)))
      throw new SallyportError('conflict', { field: 'authentication' })
  }
  await tx.oauth.putConnection({
    connectionId,
    grantType: grant,
    scopeWanted,
    scopeRequired: [],
    clientId: client?.id ?? null,
    issuer: null,
    server: null,
    places: [],
  })
}
