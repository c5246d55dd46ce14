/**
 * A change of the deny set, from the rows that make it necessary to the set in force. Every step is a transaction of its own
 * that begins with what is stored, so whoever looks next goes on from wherever a crash left it.
 */
import { canonicalJson, type DenyEntry } from '@sallyport/protocol'
import { denySetDigest } from '@sallyport/protocol/node'
import type { Deps } from '../deps.ts'
import { closeSession } from '../session/close-sessions.ts'
import { finishSession, type InFlight } from '../session/finish-session.ts'
import type { Store, Tx } from '../store.ts'
import { confirmWithinMs, type SessionDenial, type StoredDenySet } from './deny-set.ts'
import { wantedEntries } from './wanted-entries.ts'

/** `waiting`: a set is staged, and somebody who enforces it has still time to confirm. */
export type DenySetStep = 'in_force' | 'waiting'

/**
 * Stages what the rows ask for, and publishes it when everybody has confirmed it. An owner that had its time loses its session;
 * somebody's word that had its time counts no more.
 */
export async function bringDenySet(
  deps: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
): Promise<DenySetStep> {
  const { store } = deps
  if (await isSettled(store)) return 'in_force'
  await store.transact(stage)
  await endUnconfirmed(deps, inFlight)
  return store.transact(publish)
}

/** Mostly there is nothing to do, and nothing is written to find that out. */
async function isSettled(store: Store): Promise<boolean> {
  const newest = await store.denials.newest()
  const entries = await wantedEntries(store)
  return newest?.state !== 'staged' && isSame(entries, newest)
}

function isSame(entries: readonly DenyEntry[], set: StoredDenySet | undefined): boolean {
  return canonicalJson(entries) === canonicalJson(set?.entries ?? [])
}

async function stage(tx: Tx): Promise<void> {
  // Before the rows: a set that another gateway staged meanwhile takes the revision, and this one is not written.
  const newest = await tx.denials.newest()
  const entries = await wantedEntries(tx)
  if (isSame(entries, newest)) return
  const revision = (newest?.revision ?? 0) + 1
  const digest = denySetDigest(revision, entries)
  const stagedAt = await tx.now()
  const set = { revision, digest, entries, state: 'staged', stagedAt, publishedAt: null } as const
  const isStaged = await tx.denials.insertSet(set)
  if (isStaged && newest?.state === 'staged')
    await tx.denials.moveSet(newest.revision, 'staged', 'withdrawn', null)
}

/** Their sandboxes may reach what is denied by now: they end, and only then it is in force. */
async function endUnconfirmed(
  { store, journal }: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
): Promise<void> {
  const late = await store.transact(
    async (tx) => {
      const { ours, late } = await unconfirmed(tx)
      return ours ? late.filter(({ keeper }) => keeper === 'owner') : []
    },
    { flush: 'later' },
  )
  for (const { sessionId } of late) {
    const isClosed = await journal.transact(async (tx, page) => {
      await tx.lockForChange({ sessions: [sessionId] })
      // Under the lock: it may have confirmed meanwhile.
      const now = await unconfirmed(tx)
      const isLate = now.late.some((one) => one.sessionId === sessionId)
      return isLate && closeSession(tx, page, sessionId, ['open'], 'deny_set_unconfirmed')
    })
    if (isClosed) await finishSession(store, inFlight, sessionId)
  }
}

async function publish(tx: Tx): Promise<DenySetStep> {
  await tx.denials.hold()
  const { ours, waited, late } = await unconfirmed(tx)
  if (!ours) return 'in_force'
  if (waited.length > 0 || late.some(({ keeper }) => keeper === 'owner')) return 'waiting'
  const before = await tx.denials.published()
  if (!(await tx.denials.moveSet(ours.revision, 'staged', 'published', await tx.now())))
    return 'waiting'
  if (before)
    await tx.denials.moveSet(before.revision, 'published', 'superseded', before.publishedAt)
  await tx.denials.dropSets(ours.revision)
  return 'in_force'
}

/** The set that is staged, and who has not confirmed it: those with time left, and those without. */
async function unconfirmed(tx: Tx): Promise<{
  readonly ours: StoredDenySet | undefined
  readonly waited: readonly SessionDenial[]
  readonly late: readonly SessionDenial[]
}> {
  const newest = await tx.denials.newest()
  if (newest?.state !== 'staged') return { ours: undefined, waited: [], late: [] }
  const now = await tx.now()
  const all = await tx.denials.unconfirmed(newest.revision)
  const isLate = await Promise.all(all.map((denial) => hadItsTime(tx, newest, denial, now)))
  return {
    ours: newest,
    waited: all.filter((_, at) => !isLate[at]),
    late: all.filter((_, at) => isLate[at]),
  }
}

async function hadItsTime(
  tx: Tx,
  { stagedAt }: StoredDenySet,
  { sessionId }: SessionDenial,
  now: number,
): Promise<boolean> {
  const session = await tx.sessions.get(sessionId)
  return now - Math.max(stagedAt, session?.openedAt ?? 0) > confirmWithinMs
}

/** What a gateway itself is reached at, denied as long as it lives; of those that are gone it goes. */
export async function denyOwnListeners(
  store: Store,
  own: { readonly source: string; readonly entries: StoredDenySet['entries'] },
): Promise<void> {
  await store.transact(async (tx) => {
    await tx.denials.putSource({ ...own, at: await tx.now() })
    const living = new Set<string>((await tx.instances.list()).map(({ id }) => id))
    for (const { source } of await tx.denials.sources())
      if (source.startsWith('ins_') && source !== own.source && !living.has(source))
        await tx.denials.dropSource(source)
  })
}
