import type { InstanceId, StreamId } from '@sallyport/protocol'
import type { Digest, JournalHead, JournalJwk } from '@sallyport/protocol/node'

export interface JournalStream {
  readonly id: StreamId
  /** The gateway that appends to it; nobody else ever does. */
  readonly instance: InstanceId
  readonly startedAt: number
  /** Sequence up to which checkpoints know it. */
  readonly covered: number
  readonly endedAt: number | null
}

export interface JournalPage {
  readonly stream: StreamId
  /** Sequences of its first and its last event in the stream. */
  readonly first: number
  readonly last: number
  readonly hash: Digest
  /** What `hash` is over. */
  readonly text: string
}

/** `position` counts up over all streams in the order of commits that depend on each other. */
export interface KeptPage extends JournalPage {
  readonly position: number
}

export interface JournalCheckpoint {
  readonly sequence: number
  readonly at: number
  /** Of the newest page when it was made. */
  readonly position: number
  readonly jws: string
}

/** Public half of a key that signs checkpoints. */
export interface JournalKey {
  readonly kid: string
  readonly jwk: JournalJwk
  readonly at: number
}

export interface JournalReads {
  /** Pages with a position over `after` and up to `until`, by position. */
  pages(after: number, until: number, limit: number): Promise<KeptPage[]>
  /** Position of the newest page; 0 when there is none. */
  lastPosition(): Promise<number>
  /** Checkpoints with a sequence over `after` and up to `until`, by sequence. */
  checkpoints(after: number, until: number, limit: number): Promise<JournalCheckpoint[]>
  /** The newest checkpoint that was made at `at` or before; without `at`, of all. */
  newestCheckpoint(at?: number): Promise<JournalCheckpoint | undefined>
  /** By time, oldest first. */
  keys(): Promise<JournalKey[]>
}

export interface JournalWrites extends JournalReads {
  /** Throws TypeError for a stream that exists. */
  begin(stream: JournalStream): Promise<void>
  /** Throws TypeError when the stream has a page with this first sequence. */
  append(page: JournalPage): Promise<void>
  /** Waits until no other transaction is between appending a page and its end; none appends until this one ends. */
  holdPages(): Promise<void>
  /** Held until the transaction ends: one gateway at a time adds to the chain. */
  holdChain(): Promise<void>
  /** Throws TypeError for a sequence that exists. */
  addCheckpoint(checkpoint: JournalCheckpoint): Promise<void>
  /** A checkpoint lists these heads: so far the streams are covered. */
  cover(heads: readonly JournalHead[]): Promise<void>
  /** Streams that have not ended and whose gateway holds no lease at `now`; not those of `except`. */
  orphans(now: number, except: InstanceId): Promise<StreamId[]>
  /** Heads of these streams that are beyond what is covered. */
  uncovered(streams: readonly StreamId[]): Promise<(JournalHead & { stream: StreamId })[]>
  /** They are no orphans any more. */
  endStreams(streams: readonly StreamId[], at: number): Promise<void>
  /** Does nothing when it is there. */
  addKey(key: JournalKey): Promise<void>
}
