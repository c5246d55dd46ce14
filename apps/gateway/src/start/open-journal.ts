/** The journal of this gateway, and who writes its checkpoints. */
import { Checkpoints, type EndedGrant, Journal, type Store } from '@sallyport/core'
import { type IdSource, type InstanceId, toSallyportError } from '@sallyport/protocol'
import type { JournalSigner } from '@sallyport/protocol/node'
import type { Log } from '../worker/log.ts'
import { endRestored } from './restored.ts'

export interface OpenJournal {
  readonly journal: Journal
  readonly checkpoints: Checkpoints
}

export interface OpenJournalDeps {
  readonly store: Store
  readonly ids: IdSource
  readonly instance: InstanceId
  readonly signer: JournalSigner
  readonly log: Log
  readonly isRestored: boolean
  /** Told of grants that ended. */
  readonly ended: (grants: readonly EndedGrant[]) => void
}

/**
 * Records the public key first: a checkpoint is never there without the key that checks it. Of a restored database it
 * says that it is one (checkpoints that left the house may know more than it has), and ends what belongs to another time.
 */
export async function openJournal(deps: OpenJournalDeps): Promise<OpenJournal> {
  const { store, ids, instance, signer, log, ended } = deps
  const now = Date.now
  await store.transact((tx) => tx.journal.addKey({ kid: signer.kid, jwk: signer.jwk, at: now() }))
  const committed = (events: number): void => checkpoints.noteEvents(events)
  const journal = new Journal({ store, ids, now, instance, signer, committed, ended })
  const report = (error: unknown, where: string): void => {
    const { code, cause } = toSallyportError(error)
    log.error({ where, code, cause: String(cause) }, 'journal')
  }
  const checkpoints = new Checkpoints({ store, journal, signer, instance, now, report })
  if (deps.isRestored) {
    await journal.transact(async (_tx, page) => page.note({ kind: 'restored', at: now() }))
    await endRestored({ store, journal }, log)
  }
  return { journal, checkpoints }
}
