/** What a refresh brought, or that nobody knows what it brought, becomes the state of its credential. */
import type { CredentialId } from '@sallyport/protocol'
import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { credentialEvent } from './credential-event.ts'
import { unusedGrant } from './ended-grant.ts'
import { markBroken } from './mark-broken.ts'
import type { RefreshLease } from './oauth.ts'
import type { RefreshAnswer } from './oauth-worker.ts'
import { publishVersion } from './publish-grant.ts'

/** `renewed`: there is a newer version, whoever made it. */
export type Refreshed = 'renewed' | 'unusable' | 'transient'

export interface Refresh {
  readonly connection: Connection
  /** As it was given to the worker. */
  readonly credential: Credential
  /** Of the order. */
  readonly lease: RefreshLease
  /** Its answer was found by whoever came after the gateway that ordered it. */
  readonly isRecovered: boolean
}

/**
 * Only over the version that was refreshed: whoever was first wins. What was given for a credential that is revoked by now
 * is nobody's. Frees the lease of the order.
 */
export async function publishRefresh(
  tx: Tx,
  page: PageDraft,
  { connection, credential, lease, isRecovered }: Refresh,
  answer: RefreshAnswer,
): Promise<Refreshed> {
  const { intentId } = lease
  await lock(tx, connection, credential.id)
  if (answer.kind === 'transient') {
    // Whether its tokens are void is still not known: whoever looks next asks again.
    if (lease.isUnclear) await tx.oauth.moveLease(intentId, { ...lease, leaseUntil: 0 })
    else await tx.oauth.dropLease(credential.id, intentId)
    return 'transient'
  }
  await tx.oauth.dropLease(credential.id, intentId)
  const [now, at] = [await tx.credentials.get(credential.id), await tx.now()]
  if (now === undefined || now.state === 'revoked') {
    if (answer.kind === 'granted')
      page.end(unusedGrant({ connection, credential }, answer.granted, at))
    return 'unusable'
  }
  if (now.version !== credential.version) return 'renewed'
  const about = { at, intentId }
  if (answer.kind === 'broken') {
    const { code } = answer
    page.note(credentialEvent('credential_broken', connection, credential, { ...about, code }))
    return markBroken(tx, credential, code)
  }
  await publishVersion(tx, connection, credential, answer.granted)
  const kind = isRecovered ? 'credential_recovered' : 'credential_renewed'
  const next = { id: credential.id, version: credential.version + 1 }
  page.note(credentialEvent(kind, connection, next, about))
  return 'renewed'
}

/**
 * Nobody can say whether the authorization server has given new tokens for it: the stored ones may be void. The lease of the
 * order that is lost becomes that of the next one, whose answer says which, so that no crash forgets the question. False
 * where somebody else has found out before.
 */
export async function noteUnclear(
  tx: Tx,
  page: PageDraft,
  { connection, credential, lease }: Omit<Refresh, 'isRecovered'>,
  next: RefreshLease,
): Promise<boolean> {
  await lock(tx, connection, credential.id)
  const { intentId, isUnclear } = lease
  if (!(await tx.oauth.moveLease(intentId, next))) return false
  const about = { at: await tx.now(), intentId }
  if (!isUnclear) page.note(credentialEvent('credential_unclear', connection, credential, about))
  return true
}

async function lock(tx: Tx, { id }: Connection, credentialId: CredentialId): Promise<void> {
  await tx.lockForChange({ connections: [id], credentials: [credentialId] })
}
