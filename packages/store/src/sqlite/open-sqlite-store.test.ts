import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { start } from '../contract/examples.ts'
import { storeContract } from '../contract.ts'
import { openSqliteStore } from './open-sqlite-store.ts'

storeContract('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-store-'))
  let now = start
  const onFatal = (error: unknown) => {
    throw error
  }
  const store = await openSqliteStore({ file: join(folder, 'data.db'), now: () => now, onFatal })
  const setClock = (to: number) => {
    now = to
  }
  const close = async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  }
  return { store, rival: store, setClock, close }
})
