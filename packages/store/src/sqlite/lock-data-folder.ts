import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SallyportError } from '@sallyport/protocol'
import { errorNumber } from './sqlite-error.ts'

export interface DataFolderLock {
  release(): void
}

const busy = 5

/**
 * Makes the folder where it is missing and holds it for this process, until released or until the process is gone, however
 * it ends. Throws `data_in_use` when another holds it, `data_not_writable` when it cannot be made or written.
 */
export function lockDataFolder(folder: string): DataFolderLock {
  let db: DatabaseSync | undefined
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK)
    db = new DatabaseSync(join(folder, 'lock'), { timeout: 0 })
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    const held = db
    return { release: () => held.close() }
  } catch (cause) {
    if (db?.isOpen) db.close()
    const code = errorNumber(cause) === busy ? 'data_in_use' : 'data_not_writable'
    throw new SallyportError(code, { cause })
  }
}
