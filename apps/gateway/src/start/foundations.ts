/** What must be in order before anything listens: the data folder, certificates, the store, an administrator. */
import type { BodySealer, Settings, Store } from '@sallyport/core'
import { loadSettings } from '@sallyport/core'
import type { IdSource } from '@sallyport/protocol'
import { adminTokenFile, bodySealer, type JournalSigner } from '@sallyport/protocol/node'
import { lockDataFolder } from '@sallyport/store'
import { type Pki, preparePki } from '../pki/prepare-pki.ts'
import { ensureAdministrator } from './administrator.ts'
import { agreeOnDataKey, prepareDataKeys } from './data-key.ts'
import { prepareJournalKey } from './journal-key.ts'
import { legacySessionKey } from './mac-key.ts'
import { openStore } from './open-store.ts'
import type { UpOptions } from './options.ts'
import type { Undo } from './undo.ts'

export interface Foundations {
  readonly pki: Pki
  readonly store: Store
  readonly settings: Settings
  readonly sessionKey: Buffer
  readonly journalSigner: JournalSigner
  readonly bodies: BodySealer
}

export async function layFoundations(
  options: UpOptions,
  deps: { ids: IdSource; onFatal: (error: unknown) => void; undo: Undo },
): Promise<Foundations> {
  const { ids, onFatal, undo } = deps
  const { dataDir, dataKeyFile, isRestored } = options
  const lock = lockDataFolder(dataDir)
  undo.push(() => lock.release())
  const pki = preparePki(dataDir)
  const journalSigner = prepareJournalKey(dataDir)
  const dataKeys = prepareDataKeys(dataDir, dataKeyFile)
  const store = await openStore(options, onFatal)
  undo.push(() => store.close())
  await ensureAdministrator(store, adminTokenFile(dataDir), { ids, now: Date.now })
  await agreeOnDataKey(store, dataKeys, { now: Date.now, isRestored })
  const sessionKey = await legacySessionKey(store, Date.now)
  const settings = await loadSettings(store)
  return { pki, store, settings, sessionKey, journalSigner, bodies: bodySealer(dataKeys) }
}
