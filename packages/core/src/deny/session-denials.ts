import { type DenySet, SallyportError, type SessionId } from '@sallyport/protocol'
import { denySetDigest } from '@sallyport/protocol/node'
import type { Reads, Tx } from '../store.ts'
import { type DenyKeeper, type SessionDenial, unionOf } from './deny-set.ts'

/** What is denied now: the newest set, which may still be on its way into force. */
export async function newestDenySet(reads: Pick<Reads, 'denials'>): Promise<DenySet> {
  const newest = await reads.denials.newest()
  return setOf(newest?.revision ?? 0, newest?.entries ?? [])
}

/** What a session is denied: the set of its beginning and every later one. Throws `not_found`. */
export async function sessionDenySet(
  reads: Pick<Reads, 'denials'>,
  id: SessionId,
): Promise<DenySet> {
  const denial = await reads.denials.ofSession(id)
  if (!denial) throw new SallyportError('not_found', { field: 'id' })
  const sets = await reads.denials.since(denial.since)
  const revision = sets.at(-1)?.revision ?? denial.since
  return setOf(revision, unionOf(sets.map(({ entries }) => entries)))
}

/** In the transaction that creates the session. Throws `deny_set_mismatch` for a word about another set than the newest. */
export async function beginDenial(
  tx: Tx,
  sessionId: SessionId,
  keeper: DenyKeeper,
  word: Pick<DenySet, 'revision' | 'digest'> | undefined,
): Promise<DenySet> {
  if (word) await tx.denials.hold()
  const newest = await newestDenySet(tx)
  if (word && (word.revision !== newest.revision || word.digest !== newest.digest))
    throw new SallyportError('deny_set_mismatch', { field: 'denySet' })
  const since = newest.revision
  const confirmed = word ? { confirmed: since, confirmedAt: await tx.now() } : noWord
  await tx.denials.insertDenial({ sessionId, keeper, since, ...confirmed })
  return newest
}

const noWord = { confirmed: null, confirmedAt: null } as const

/**
 * Whoever keeps a session says that a set is enforced in it from now on. Throws `not_found`, and `deny_set_mismatch` when
 * that is not the set the session is denied now.
 */
export async function confirmDenial(
  tx: Tx,
  id: SessionId,
  keeper: DenyKeeper,
  said: Pick<DenySet, 'revision' | 'digest'>,
): Promise<SessionDenial> {
  const denial = await tx.denials.ofSession(id)
  const denied = await sessionDenySet(tx, id)
  if (!denial || said.revision !== denied.revision || said.digest !== denied.digest)
    throw new SallyportError('deny_set_mismatch', { field: 'denySet' })
  const confirmed = { ...denial, keeper, confirmed: said.revision, confirmedAt: await tx.now() }
  await tx.denials.confirm(confirmed)
  return confirmed
}

/** May a session open: is what is in force enforced in it? Under `hold`, so that nothing is published meanwhile. */
export async function mayOpen(tx: Tx, id: SessionId): Promise<boolean> {
  await tx.denials.hold()
  return isKept(tx, id)
}

/** Is a session kept from everything that is in force? */
export async function isKept(reads: Pick<Reads, 'denials'>, id: SessionId): Promise<boolean> {
  const denial = await reads.denials.ofSession(id)
  const published = await reads.denials.published()
  if (!denial || denial.keeper === 'nobody') return false
  return (denial.confirmed ?? 0) >= (published?.revision ?? 0)
}

function setOf(revision: number, entries: DenySet['entries']): DenySet {
  return { revision, digest: denySetDigest(revision, entries), entries }
}
