/** The deny set as it is kept: one whole set for each change, numbered, never edited. */
import type { DenyEntry, DenySet, SessionId } from '@sallyport/protocol'

/** `staged → published → superseded`, or `withdrawn` when another took its place before everybody had confirmed. */
export const denySetStates = ['staged', 'published', 'superseded', 'withdrawn'] as const
export type DenySetState = (typeof denySetStates)[number]

export interface StoredDenySet extends DenySet {
  readonly state: DenySetState
  readonly stagedAt: number
  readonly publishedAt: number | null
}

/** What is denied beside connections: listeners of a gateway (its instance id), or what the operator adds. */
export interface DenySource {
  readonly source: string
  readonly entries: readonly DenyEntry[]
  readonly at: number
}

export const operatorSource = 'operator'

/**
 * Who keeps a session from what it is denied. `owner`: its launcher, which loses the session when it does not confirm.
 * `word`: whoever created it says so. `nobody`: direct access is not denied.
 */
export const denyKeepers = ['owner', 'word', 'nobody'] as const
export type DenyKeeper = (typeof denyKeepers)[number]

export interface SessionDenial {
  readonly sessionId: SessionId
  readonly keeper: DenyKeeper
  /** The newest set when the session was created: it is denied that one and every later one. */
  readonly since: number
  /** What was confirmed last; null before. */
  readonly confirmed: number | null
  readonly confirmedAt: number | null
}

/** From the staging of a set, or the opening of a session: after it whoever has not confirmed is not waited for. */
export const confirmWithinMs = 30_000

/** Does the set in force deny all of these? `set` undefined: nothing is denied yet. */
export function coversAll(set: DenySet | undefined, wanted: readonly DenyEntry[]): boolean {
  const there = new Set((set?.entries ?? []).map(entryKey))
  return wanted.every((entry) => there.has(entryKey(entry)))
}

export const entryKey = ({ host, port }: DenyEntry): string => `${host} ${port ?? '*'}`

/** Each once, in one order. */
export function unionOf(all: readonly (readonly DenyEntry[])[]): DenyEntry[] {
  const byKey = new Map(all.flat().map((entry) => [entryKey(entry), entry]))
  return [...byKey].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry)
}
