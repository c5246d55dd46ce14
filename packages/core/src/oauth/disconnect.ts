import { type ConnectionId, type ErrorCode, toSallyportError } from '@sallyport/protocol'
import type { Connection } from '../connection/connection.ts'
import { lockConnection } from '../connection/connection-access.ts'
import { saveConnection } from '../connection/save-connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { Deps } from '../deps.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { credentialEvent } from './credential-event.ts'
import { type EndedGrant, endCredential } from './ended-grant.ts'
import type { OAuthWorker } from './oauth-worker.ts'

export interface Disconnected {
  readonly connection: Connection
  /** What its authorization server is to be told; undefined where there is nothing to tell. */
  readonly ended: EndedGrant | undefined
}

/**
 * Revokes the credential, of whatever kind, and forgets its seal; the connection stays. When it resolves no barrier passes
 * with it any more. A connection without a credential stays as it is.
 */
export function disconnect(
  { journal }: Deps,
  actor: Actor,
  id: ConnectionId,
): Promise<Disconnected> {
  return journal.transact(async (tx, page) => {
    const confirmed = await confirmActor(tx, actor)
    const before = await lockConnection(tx, confirmed, id)
    if (before.credentialId === null) return { connection: before, ended: undefined }
    const ended = await endCredential(tx, page, { connection: before, by: confirmed.userId })
    const health = { state: 'unknown', code: null, at: await tx.now() } as const
    return { connection: await saveConnection(tx, before, { ...before, health }), ended }
  })
}

/** What an authorization server said when it was told that a grant is over. */
export type Revocation = 'revoked' | 'not_offered' | 'failed'

export interface RevocationDeps extends Pick<Deps, 'journal'> {
  readonly oauth: Pick<OAuthWorker, 'revoke'>
}

/**
 * Asks the authorization server to revoke a grant that is revoked here already, so that nothing depends on its answer.
 * The journal tells what came of it. Rejects only when the store fails.
 */
export async function revokeAtProvider(
  { oauth, journal }: RevocationDeps,
  connection: Connection,
  credential: Credential,
): Promise<Revocation> {
  const { kind, code } = await ask(oauth, connection, credential)
  const { id, version } = credential
  await journal.transact(async (tx, page) => {
    const about = { at: await tx.now(), ...(code === undefined ? {} : { code }) }
    if (kind !== 'not_offered')
      page.note(credentialEvent('credential_revocation', connection, { id, version }, about))
  })
  return kind
}

async function ask(
  oauth: RevocationDeps['oauth'],
  connection: Connection,
  credential: Credential,
): Promise<{ readonly kind: Revocation; readonly code?: ErrorCode }> {
  try {
    const { kind } = await oauth.revoke({ connection, credential })
    return { kind }
  } catch (thrown) {
    return { kind: 'failed', code: toSallyportError(thrown).code }
  }
}
