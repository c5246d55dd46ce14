import type { Store, Tx } from '../store.ts'
import type { KnownKey } from './known-key.ts'

/** What a worker says of the keys it holds; the newest first. */
export interface AnnouncedKeys {
  readonly keys: readonly { readonly kid: string; readonly madeAt: number | null }[]
  /** Gone for good, as far as it can tell. */
  readonly retired: readonly string[]
}

/**
 * Makes known what a worker holds, and answers with every known key, the newest first. A key that its source says is gone
 * is retired, whatever is still sealed to it: of a backup that was restored, nobody can open that any more.
 */
export async function registerKeys(store: Store, announced: AnnouncedKeys): Promise<KnownKey[]> {
  const known = await store.vaultKeys.list()
  if (isKnown(known, announced)) return known
  await store.transact(async (tx) => {
    const now = await tx.now()
    for (const { kid, madeAt } of announced.keys.toReversed()) await addKey(tx, kid, madeAt)
    for (const kid of announced.retired) await retire(tx, kid, now)
    await openOne(tx, announced)
  })
  return store.vaultKeys.list()
}

function isKnown(known: readonly KnownKey[], { keys, retired }: AnnouncedKeys): boolean {
  const states = new Map(known.map(({ kid, state }) => [kid, state]))
  const isHeld = keys.every(({ kid }) => states.has(kid))
  const isOneOpen = keys.some(({ kid }) => states.get(kid) === 'open')
  return isHeld && isOneOpen && retired.every((kid) => states.get(kid) !== 'open')
}

/** Two gateways may add keys at once: the one that is second takes the next position. */
async function addKey(tx: Tx, kid: string, madeAt: number | null): Promise<void> {
  for (;;) {
    const known = await tx.vaultKeys.list()
    if (known.some((key) => key.kid === kid)) return
    const position = (known[0]?.position ?? 0) + 1
    if (await tx.vaultKeys.insert({ kid, position, state: 'open', madeAt, retiredAt: null })) return
  }
}

async function retire(tx: Tx, kid: string, now: number): Promise<void> {
  const key = await tx.vaultKeys.lock(kid)
  if (key?.state === 'open') await tx.vaultKeys.update({ ...key, state: 'retired', retiredAt: now })
}

/** A worker that holds none but retired keys has its source from before: nobody could add a secret otherwise. */
async function openOne(tx: Tx, { keys }: AnnouncedKeys): Promise<void> {
  const known = await tx.vaultKeys.list()
  const states = new Map(known.map(({ kid, state }) => [kid, state]))
  const [newest] = keys
  if (!newest || keys.some(({ kid }) => states.get(kid) === 'open')) return
  const key = await tx.vaultKeys.lock(newest.kid)
  const position = (known[0]?.position ?? 0) + 1
  if (key) await tx.vaultKeys.update({ ...key, position, state: 'open', retiredAt: null })
}
