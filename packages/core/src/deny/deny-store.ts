import type { SessionId } from '@sallyport/protocol'
import type { DenySetState, DenySource, SessionDenial, StoredDenySet } from './deny-set.ts'

export interface DenyReads {
  /** The set of the highest revision, whatever its state. */
  newest(): Promise<StoredDenySet | undefined>
  published(): Promise<StoredDenySet | undefined>
  /** From this revision on, by revision. */
  since(revision: number): Promise<StoredDenySet[]>
  /** By source. */
  sources(): Promise<DenySource[]>
  ofSession(id: SessionId): Promise<SessionDenial | undefined>
  /** Of open sessions with a keeper that has not confirmed this revision; by session. */
  unconfirmed(revision: number): Promise<SessionDenial[]>
}

export interface DenyWrites extends DenyReads {
  /** False when the revision is taken. */
  insertSet(set: StoredDenySet): Promise<boolean>
  /** Moves a set from `from`; false when it is in another state. */
  moveSet(
    revision: number,
    from: DenySetState,
    to: DenySetState,
    publishedAt: number | null,
  ): Promise<boolean>
  /** Removes superseded and withdrawn sets below this revision, unless a living session is denied them. */
  dropSets(below: number): Promise<void>
  /** Inserts, or replaces the row of that source. */
  putSource(source: DenySource): Promise<void>
  dropSource(source: string): Promise<void>
  insertDenial(denial: SessionDenial): Promise<void>
  /** Never back to an earlier revision. False when there is no such session, or it has confirmed a later one. */
  confirm(denial: SessionDenial): Promise<boolean>
  /** Until the transaction ends nobody else publishes a set or opens a session. Waits. */
  hold(): Promise<void>
}
