/** The key that kept arguments and results are sealed with. The database holds its id, never the key. */
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { type DataKey, dataKey } from '@sallyport/protocol/node'
import { flushFolder, writeDurably } from '../files/write-durably.ts'

export type DataKeys = readonly [DataKey, ...DataKey[]]

const name = 'internal.dataKeyId'
const line = /^[A-Za-z0-9_-]{43}$/

/**
 * Keys of this data folder, or of the file that all gateways of a database share: one a line, base64url. The first seals,
 * all of them open. A file that is not there is made, with a new key. Throws `bad_certificate` for a damaged one (its cause
 * names it).
 */
export function prepareDataKeys(dataDir: string, sharedFile: string | undefined): DataKeys {
  const path = sharedFile ?? join(dataDir, 'gateway', 'data.key')
  try {
    if (!existsSync(path)) makeFile(path)
    return readKeys(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new SallyportError('bad_certificate', {
      cause: new Error(`unusable: ${path}`, { cause }),
    })
  }
}

/** Of two gateways that begin together, one makes it and both read it. */
function makeFile(path: string): void {
  const whole = `${path}.${randomBytes(6).toString('hex')}`
  writeDurably(whole, `${randomBytes(32).toString('base64url')}\n`)
  try {
    linkSync(whole, path)
    flushFolder(join(path, '..'))
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  } finally {
    rmSync(whole, { force: true })
  }
}

function readKeys(text: string): DataKeys {
  const lines = text.split('\n').filter((one) => one.trim() !== '')
  if (!lines.every((one) => line.test(one))) throw new TypeError('not a key in each line')
  const [first, ...others] = lines.map((one) => dataKey(Buffer.from(one, 'base64url')))
  if (!first) throw new TypeError('no key')
  return [first, ...others]
}

/**
 * The key that the database was sealed with is among them, and from now on the first one is that key. Of a restored backup
 * the key may be lost. Throws `data_key_mismatch`.
 */
export async function agreeOnDataKey(
  store: Store,
  keys: DataKeys,
  { now, isRestored }: { readonly now: () => number; readonly isRestored: boolean },
): Promise<void> {
  const [{ id: value }] = keys
  const isKnown = (found: { readonly value: unknown } | undefined): boolean => {
    const isOurs = keys.some(({ id }) => id === found?.value)
    if (found && !isOurs && !isRestored) throw new SallyportError('data_key_mismatch')
    return found?.value === value
  }
  await store.transact(async (tx) => {
    if (isKnown(await tx.settings.get(name))) return
    await tx.lockForChange({ pause: true })
    if (isKnown(await tx.settings.get(name))) return
    await tx.settings.set({ name, value, by: 'system', at: now() })
  })
}
