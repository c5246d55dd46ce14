/** Walks through every seal that is stored, in pages, so that many of them are never in memory at once. */
import { readSealHeader } from '@sallyport/protocol/node'
import type { Reads } from '../store.ts'
import { type StoredSeal, storedSealKinds } from './seal-store.ts'

const pageSize = 200

/** In pages of one kind, in the order of ids. */
export async function* pagesOfSeals(reads: Pick<Reads, 'seals'>): AsyncGenerator<StoredSeal[]> {
  for (const kind of storedSealKinds) {
    for (let after = ''; ; ) {
      const page = await reads.seals.page(kind, after, pageSize)
      if (page.length > 0) yield page
      const last = page.at(-1)
      if (!last || page.length < pageSize) break
      after = last.row
    }
  }
}

/** How many seals each key has, by its kid. */
export async function countSeals(
  reads: Pick<Reads, 'seals'>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for await (const page of pagesOfSeals(reads)) {
    for (const { seal } of page) {
      const kid = kidOf(seal)
      if (kid !== undefined) counts.set(kid, (counts.get(kid) ?? 0) + 1)
    }
  }
  return counts
}

/** Undefined for what is no seal any more: no key could open it. */
export function kidOf(seal: string): string | undefined {
  try {
    return readSealHeader(seal).kid
  } catch {
    return undefined
  }
}
