import { SallyportError } from '@sallyport/protocol'
import { readSealHeader } from '@sallyport/protocol/node'
import type { Tx } from '../store.ts'

/**
 * For whoever is about to write a seal: its key is not retired before this transaction ends. Throws `seal_key_retired`;
 * whoever sealed takes the present key and seals again. A key that is not known is for the worker to judge.
 */
export async function holdSealKey(tx: Tx, seal: string): Promise<void> {
  const key = await tx.vaultKeys.hold(readSealHeader(seal).kid)
  if (key?.state === 'retired') throw new SallyportError('seal_key_retired')
}
