import type { ConnectionId, CredentialId } from '@sallyport/protocol'
import type { Listing } from '@sallyport/protocol/node'
import type { Store, Tx } from '../store.ts'
import type { Connection } from './connection.ts'

/** What a listing was asked with. */
export interface Asked {
  readonly connectionId: ConnectionId
  readonly connectionRevision: number
  readonly credentialId: CredentialId | null
  readonly credentialVersion: number | null
}

/** Keeps an accepted listing as the newest observation. False when the connection or its credential moved meanwhile. */
export function recordListing(store: Store, asked: Asked, listing: Listing): Promise<boolean> {
  return store.transact(async (tx) => {
    const connection = await tx.connections.get(asked.connectionId)
    if (!connection || !(await isStillAsked(tx, connection, asked))) return false
    await observe(tx, asked, listing)
    return true
  })
}

/** Is the connection what it was when the listing was asked for? */
export async function isStillAsked(
  tx: Tx,
  { state, revision, credentialId }: Connection,
  asked: Asked,
): Promise<boolean> {
  const credential = credentialId === null ? undefined : await tx.credentials.get(credentialId)
  return (
    state !== 'deleted' &&
    revision === asked.connectionRevision &&
    credentialId === asked.credentialId &&
    (credential?.version ?? null) === asked.credentialVersion
  )
}

export async function observe(tx: Tx, asked: Asked, listing: Listing): Promise<void> {
  await tx.connections.observe({
    connectionId: asked.connectionId,
    connectionRevision: asked.connectionRevision,
    digest: listing.digest,
    at: await tx.now(),
    tools: Object.fromEntries(listing.tools.map(({ name, digest }) => [name, digest])),
  })
}
