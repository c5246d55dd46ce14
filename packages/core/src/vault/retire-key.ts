import type { Store } from '../store.ts'
import { kidOf, pagesOfSeals } from './stored-seals.ts'

/**
 * Retires a key to which nothing is sealed, proved while nobody can write a seal to it; durable when it resolves. False
 * when it is not open, or something is sealed to it.
 */
export function retireKey(store: Store, kid: string): Promise<boolean> {
  return store.transact(async (tx) => {
    const key = await tx.vaultKeys.lock(kid)
    if (key?.state !== 'open') return false
    for await (const page of pagesOfSeals(tx))
      if (page.some(({ seal }) => kidOf(seal) === kid)) return false
    await tx.vaultKeys.update({ ...key, state: 'retired', retiredAt: await tx.now() })
    return true
  })
}
