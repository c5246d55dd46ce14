/** What must be in order before anything listens: the data folder, certificates, the store, an administrator. */
import type { Settings, Store } from '@sallyport/core'
import { loadSettings } from '@sallyport/core'
import type { IdSource } from '@sallyport/protocol'
import { adminTokenFile, type JournalSigner } from '@sallyport/protocol/node'
import { lockDataFolder } from '@sallyport/store'
import { type Pki, preparePki } from '../pki/prepare-pki.ts'
import type { Log } from '../worker/log.ts'
import { ensureAdministrator } from './administrator.ts'
import { prepareJournalKey } from './journal-key.ts'
import { legacySessionKey } from './mac-key.ts'
import { openStore } from './open-store.ts'
import type { UpOptions } from './options.ts'
import { endRestoredSessions } from './restored.ts'
import type { Undo } from './undo.ts'

export interface Foundations {
  readonly pki: Pki
  readonly store: Store
  readonly settings: Settings
  readonly sessionKey: Buffer
  readonly journalSigner: JournalSigner
}

export async function layFoundations(
  options: UpOptions,
  deps: { ids: IdSource; log: Log; onFatal: (error: unknown) => void; undo: Undo },
): Promise<Foundations> {
  const { ids, log, onFatal, undo } = deps
  const { dataDir } = options
  const lock = lockDataFolder(dataDir)
  undo.push(() => lock.release())
  const pki = preparePki(dataDir)
  const journalSigner = prepareJournalKey(dataDir)
  const store = await openStore(options, onFatal)
  undo.push(() => store.close())
  await ensureAdministrator(store, adminTokenFile(dataDir), { ids, now: Date.now })
  if (options.isRestored) await endRestoredSessions(store, log)
  const sessionKey = await legacySessionKey(store, Date.now)
  return { pki, store, settings: await loadSettings(store), sessionKey, journalSigner }
}
