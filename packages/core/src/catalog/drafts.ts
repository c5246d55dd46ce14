import { type CatalogId, type ConnectionId, SallyportError } from '@sallyport/protocol'
import type { Reads, Tx } from '../store.ts'
import type { Catalog, CatalogState } from './catalog.ts'

/** What still may be decided about. */
export const draftStates = ['discovered', 'in_review'] as const satisfies readonly CatalogState[]

export function isDraft({ state }: Catalog): boolean {
  return (draftStates as readonly CatalogState[]).includes(state)
}

/** The newest draft of a connection, or undefined. */
export async function newestDraft(
  reads: Reads,
  connectionId: ConnectionId,
): Promise<Catalog | undefined> {
  return (await reads.catalogs.ofConnection(connectionId)).find(isDraft)
}

/** Moves a catalog that is locked, or whose connection is, to another state. Throws `conflict` when it moved. */
export async function saveCatalog(tx: Tx, before: Catalog, after: Catalog): Promise<Catalog> {
  const saved = { ...after, version: before.version + 1 }
  if (!(await tx.catalogs.update(saved, before.version))) throw new SallyportError('conflict')
  return saved
}

/** Drafts of a connection, whose row is locked, are discarded; all but one. */
export async function discardDrafts(
  tx: Tx,
  connectionId: ConnectionId,
  except?: CatalogId,
): Promise<void> {
  for (const draft of (await tx.catalogs.ofConnection(connectionId)).filter(isDraft)) {
    if (draft.id !== except) await saveCatalog(tx, draft, { ...draft, state: 'discarded' })
  }
}

/** The published catalog of a connection, whose row is locked, gives way. Its bindings stay. */
export async function supersedePublished(tx: Tx, connectionId: ConnectionId): Promise<void> {
  const published = (await tx.catalogs.ofConnection(connectionId)).filter(
    ({ state }) => state === 'published',
  )
  await tx.lockForChange({ catalogs: published.map(({ id }) => id) })
  for (const catalog of published)
    await saveCatalog(tx, catalog, { ...catalog, state: 'superseded' })
}
