import {
  type CredentialId,
  type OAuthClientId,
  type OAuthFlowId,
  SallyportError,
} from '@sallyport/protocol'
import type { OAuthGranted, SealedOAuthClient } from '@sallyport/protocol/node'
import { checkCredential } from '../connection/check-secrets.ts'
import type { Connection } from '../connection/connection.ts'
import { saveConnection } from '../connection/save-connection.ts'
import type { Credential } from '../credential/credential.ts'
import { insertCredential } from '../credential/insert-credential.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'
import { endCredential } from './ended-grant.ts'
import type { OAuthFlow } from './oauth.ts'
import { presentCredential } from './present-credential.ts'
import { stillRequired } from './require-scope.ts'
import { signInEvent } from './sign-in-event.ts'

type Flow = Pick<
  OAuthFlow,
  'id' | 'userId' | 'connectionId' | 'connectionRevision' | 'freshCredentialId' | 'issuer'
>

interface Publication {
  readonly flow: Flow
  readonly present: Credential | undefined
  readonly granted: OAuthGranted
}

/**
 * Makes what a sign-in brought the credential of its connection: the next version of the present one for the same account,
 * else the first of a fresh one, to which no old binding points. Throws `conflict` when the connection or its credential
 * is not what it was when it was asked: of two sign-ins that end at once the second one, and one that somebody disconnected.
 */
export async function publishGrant(
  tx: Tx,
  page: PageDraft,
  { flow, present, granted }: Publication,
): Promise<void> {
  const id = flow.connectionId
  await tx.lockForChange({ connections: [id], ...(present ? { credentials: [present.id] } : {}) })
  const before = await tx.connections.get(id)
  const oauth = await tx.oauth.connection(id)
  if (!before || !oauth || before.state === 'deleted') throw new SallyportError('conflict')
  if (before.revision !== flow.connectionRevision) throw new SallyportError('conflict')
  const credentialId = await keep(tx, page, before, { flow, present, granted })
  const places = granted.places.length > 0 ? granted.places : oauth.places
  const scopeRequired = stillRequired(oauth, granted.clear.oauth?.oauthScope)
  const issuer = flow.issuer || oauth.issuer
  const server = granted.server ?? null
  await tx.oauth.putConnection({ ...oauth, issuer, server, places, scopeRequired })
  const at = await tx.now()
  const health = { state: 'ok', code: null, at } as const
  await saveConnection(tx, before, { ...before, credentialId, health })
  const { account, credentialVersion } = granted
  const facts = { at, account, credentialId, credentialVersion }
  page.note(signInEvent('sign_in_completed', before, flow, facts))
}

async function keep(
  tx: Tx,
  page: PageDraft,
  connection: Connection,
  { flow, present, granted }: Publication,
): Promise<CredentialId> {
  const id = granted.credentialId as CredentialId
  const given = { id, seal: granted.seal, clear: granted.clear }
  if ((await presentCredential(tx, connection))?.id !== present?.id)
    throw new SallyportError('conflict')
  if (present && id === present.id) {
    await publishVersion(tx, connection, present, granted)
    return id
  }
  if (id !== flow.freshCredentialId || granted.credentialVersion !== 1)
    throw new SallyportError('seal_other_row')
  const ended = await endCredential(tx, page, { connection, by: flow.userId })
  // Of what may be the same account many servers would end the grant that was made just now as well.
  if (ended && granted.account === 'other') page.end({ ...ended, otherThan: id })
  await insertCredential(tx, connection, given)
  return id
}

/** Under its lock: only over the version that the worker was given, and not over a revocation. Throws `conflict`. */
export async function publishVersion(
  tx: Tx,
  { scope }: Pick<Connection, 'scope'>,
  { id, version }: Credential,
  granted: OAuthGranted,
): Promise<void> {
  const now = await tx.credentials.get(id)
  if (now?.version !== version || now.state === 'revoked') throw new SallyportError('conflict')
  const next = { id, seal: granted.seal, clear: granted.clear }
  checkCredential(next, scope, version + 1)
  await holdSealKey(tx, granted.seal)
  const after: Credential = {
    ...now,
    ...next,
    version: version + 1,
    state: 'active',
    updatedAt: await tx.now(),
  }
  if (!(await tx.credentials.update(after, version))) throw new SallyportError('conflict')
}

/** A client that the flow registered, for later ones. */
export async function keepRegistration(
  tx: Tx,
  connection: Connection,
  registration: SealedOAuthClient,
  expected: OAuthClientId,
): Promise<void> {
  const { id, scope, version, seal, issuer = null } = registration
  if (id !== expected || scope !== connection.scope) throw new SallyportError('seal_other_row')
  await holdSealKey(tx, seal)
  await tx.oauth.insertClient({
    id: expected,
    connectionId: null,
    scope: connection.scope,
    version,
    issuer,
    seal,
    createdAt: await tx.now(),
  })
}

/** How a flow ended. False, and nothing happens, when it has ended already. */
export async function closeFlow(
  tx: Tx,
  id: OAuthFlowId,
  end: Pick<OAuthFlow, 'state' | 'code' | 'account'>,
): Promise<boolean> {
  const flow = await tx.oauth.flow(id)
  return flow !== undefined && tx.oauth.closeFlow({ ...flow, ...end, pending: '' })
}
