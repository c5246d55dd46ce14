import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { Tx } from '../store.ts'
import type { EndedGrant } from './ended-grant.ts'
import type { OAuthFlow } from './oauth.ts'
import { presentCredential } from './present-credential.ts'

/**
 * Whether a credential that is used here, or is about to be, may stand on the same grant: many servers end all that one
 * account gave to one client with any token of it. Accounts are seen by the worker only, so the same host of an issuer is
 * enough, unless the worker found another account. Of other connections only for what no credential here was ever of.
 */
export async function isStoodOn(
  tx: Tx,
  { connection, credential, otherThan, account }: EndedGrant,
): Promise<boolean> {
  const host = credential.clear.oauth?.issuerHost
  // Read first: what one of them publishes meanwhile is found below.
  const finishing = account === undefined ? [] : await finishingFlows(tx, credential)
  const isOfNobody = account !== undefined && account !== 'same'
  const ids = isOfNobody
    ? (await tx.oauth.connections()).map(({ connectionId }) => connectionId)
    : [connection.id]
  for (const seen of await tx.connections.getMany(ids)) {
    const { one, present } = await asPublished(tx, seen)
    const isOther = present?.id === otherThan || present?.clear.oauth?.issuerHost !== host
    if (present && !isOther) return true
    if (finishing.some((flow) => hostOf(flow) === host && mayBePublished(flow, one, present)))
      return true
  }
  return false
}

/** A sign-in that is published between the two reads moves both rows: then what was seen is of before. */
async function asPublished(
  tx: Tx,
  seen: Connection,
): Promise<{ readonly one: Connection; readonly present: Credential | undefined }> {
  const present = await presentCredential(tx, seen)
  if (present || seen.credentialId === null) return { one: seen, present }
  const one = (await tx.connections.get(seen.id)) ?? seen
  return { one, present: await presentCredential(tx, one) }
}

async function finishingFlows(tx: Tx, { id }: Credential): Promise<OAuthFlow[]> {
  const open = await tx.oauth.openFlows()
  return open.filter(
    ({ state, freshCredentialId }) => state === 'finishing' && freshCredentialId !== id,
  )
}

function mayBePublished(
  { connectionId, connectionRevision, credentialId }: OAuthFlow,
  { id, revision, state }: Connection,
  present: Credential | undefined,
): boolean {
  const isSame = connectionId === id && connectionRevision === revision && state !== 'deleted'
  return isSame && credentialId === (present?.id ?? null)
}

function hostOf({ issuer }: OAuthFlow): string | undefined {
  return URL.parse(issuer)?.host
}
