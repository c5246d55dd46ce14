import type { CredentialId, UserId } from '@sallyport/protocol'
import type { OAuthGranted } from '@sallyport/protocol/node'
import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import { revokeCredential } from '../credential/replace-credential.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { credentialEvent } from './credential-event.ts'
import type { OAuthTarget } from './oauth-worker.ts'

/** A grant that nobody here uses any more, as it was: with its seal, and with the endpoint of its connection. */
export interface EndedGrant {
  readonly connection: Connection
  readonly credential: Credential
  /** Known to be of another account. */
  readonly otherThan?: CredentialId | undefined
  /** As the worker found it, of what never became a credential; undefined for what somebody ended. */
  readonly account?: OAuthGranted['account']
}

/**
 * Revokes the credential of a connection, whose row is locked, forgets its seal and tells the journal. Undefined where there
 * was none, where it was revoked already, and where no authorization server gave it.
 */
export async function endCredential(
  tx: Tx,
  page: PageDraft,
  { connection, by }: { readonly connection: Connection; readonly by: UserId },
): Promise<EndedGrant | undefined> {
  const { credentialId } = connection
  if (credentialId === null) return undefined
  await tx.lockForChange({ credentials: [credentialId] })
  const credential = await tx.credentials.get(credentialId)
  await revokeCredential(tx, credentialId)
  if (!credential || credential.state === 'revoked') return undefined
  const revoked = { id: credentialId, version: credential.version + 1 }
  page.note(credentialEvent('credential_revoked', connection, revoked, { at: await tx.now(), by }))
  return credential.clear.oauth ? { connection, credential } : undefined
}

/** What an authorization server gave for this target, and nobody here keeps. `at`: ms since 1970. */
export function unusedGrant(
  { connection, credential: present }: OAuthTarget,
  { account, credentialId, credentialVersion: version, seal, clear }: OAuthGranted,
  at: number,
): EndedGrant {
  const id = credentialId as CredentialId
  const times = { createdAt: at, updatedAt: at }
  const row = { id, connectionId: connection.id, version, state: 'active', ...times } as const
  const otherThan = account === 'other' ? present?.id : undefined
  return { connection, credential: { ...row, seal, clear }, otherThan, account }
}
