/** The first person: made when there is none, with a token in a file that only the operator of the machine can read. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import type { Store, User } from '@sallyport/core'
import { type IdSource, SallyportError } from '@sallyport/protocol'
import { digestBytes } from '@sallyport/protocol/node'
import { writeDurably } from '../files/write-durably.ts'

const administratorName = 'admin'

/**
 * Whoever operates the machine is an administrator: a lost or revoked token file is replaced at start. Throws
 * `not_allowed` when the user `admin` was disabled and the file's token is no longer good.
 */
export async function ensureAdministrator(
  store: Store,
  file: string,
  deps: { ids: IdSource; now: () => number },
): Promise<void> {
  if (existsSync(file) && (await isValid(store, readFileSync(file, 'utf8').trim(), deps.now())))
    return
  const token = randomBytes(32).toString('base64url')
  await store.transact(async (tx) => {
    // Another gateway may start on the same empty database: whoever is first makes the user, for both.
    await tx.users.insert(newAdministrator(deps))
    const user = await tx.users.byName(administratorName)
    if (!user || user.disabledAt !== null) throw new SallyportError('not_allowed')
    await tx.users.insertToken({
      id: deps.ids('token'),
      userId: user.id,
      hash: digestBytes(token),
      label: 'token file of the data folder',
      createdAt: deps.now(),
      expiresAt: null,
      revokedAt: null,
    })
  })
  writeDurably(file, `${token}\n`)
}

function newAdministrator({ ids, now }: { ids: IdSource; now: () => number }): User {
  return {
    id: ids('user'),
    name: administratorName,
    role: 'admin',
    createdAt: now(),
    disabledAt: null,
  }
}

async function isValid(store: Store, token: string, now: number): Promise<boolean> {
  const found = await store.users.tokenByHash(digestBytes(token))
  if (!found || found.revokedAt !== null) return false
  if (found.expiresAt !== null && found.expiresAt <= now) return false
  const user = await store.users.get(found.userId)
  return user !== undefined && user.disabledAt === null && user.role === 'admin'
}
