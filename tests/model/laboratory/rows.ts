/** What stands in the store before anything happens: one session that may read and write without being asked. */
import type { BoundTool, Store } from '@sallyport/core'
import type { JournalSigner } from '@sallyport/protocol/node'
import {
  aBinding,
  aCatalog,
  aConnection,
  aCredential,
  aGrant,
  aProfile,
  aSession,
  aTool,
} from '../../../packages/core/src/call/samples.ts'

export const session = aSession()

export const tools: Readonly<Record<'read' | 'write', BoundTool>> = {
  read: aTool(),
  write: aTool({
    tool: 'add',
    exposedName: 'add',
    mode: 'write_unattended',
    access: 'write',
  }),
}

/** The owner of the session, who may also revoke. */
export const administrator = { userId: session.ownerId, role: 'admin' } as const

export async function fillStore(store: Store, { kid, jwk }: JournalSigner): Promise<void> {
  const { connectionId, credentialId, catalogId } = aBinding()
  await store.transact(async (tx) => {
    await tx.users.insert({
      id: session.ownerId,
      name: 'ada',
      role: 'admin',
      createdAt: 0,
      disabledAt: null,
    })
    await tx.connections.insert(
      aConnection({ id: connectionId, credentialId, publishedId: catalogId }),
      25,
    )
    await tx.credentials.insert(aCredential())
    await tx.catalogs.insert(aCatalog(), [])
    await tx.profiles.insert(aProfile())
    await tx.grants.insert(aGrant())
    await tx.sessions.insert(session)
    await tx.journal.addKey({ kid, jwk, at: 0 })
  })
}
