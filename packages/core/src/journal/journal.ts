/**
 * The journal: hash-chained streams of what was decided. What one transaction tells is one page, appended in that
 * transaction, so that neither is there without the other. A stream is used by one transaction at a time: those that
 * overlap have streams of their own, and none waits for a lock.
 */

import type { IdSource, InstanceId, StreamId } from '@sallyport/protocol'
import type { Digest, JournalEvent, JournalHead, JournalSigner } from '@sallyport/protocol/node'
import { composePage, signOpening } from '@sallyport/protocol/node'
import type { EndedGrant } from '../oauth/ended-grant.ts'
import type { Store, Tx } from '../store.ts'
import { enqueueTold, type ToldEvent } from '../webhook/told-event.ts'
import type { JournalPage } from './journal-store.ts'

/** The page of one transaction, until it is written. */
export class PageDraft {
  readonly events: JournalEvent[] = []
  /** Names the signed batch whose intents this transaction lets go. */
  batch: Digest | undefined
  /** For the outbox of webhooks. */
  readonly told: ToldEvent[] = []
  /** For whoever tells their authorization servers, when this is committed. */
  readonly ended: EndedGrant[] = []

  note(event: JournalEvent): void {
    this.events.push(event)
  }

  tell(event: ToldEvent): void {
    this.told.push(event)
  }

  end(grant: EndedGrant | undefined): void {
    if (grant) this.ended.push(grant)
  }
}

interface Stream {
  readonly id: StreamId
  /** Of its newest committed page; undefined before the first. */
  head: Head | undefined
  /** Sequence up to which a checkpoint has listed it. */
  listed: number
  /** Of a page whose commit has no clear end. The stream is not used again. */
  unclear?: Head
}

interface Appended {
  readonly stream: Stream
  readonly page: JournalPage
}

interface Head {
  readonly sequence: number
  readonly hash: Digest
}

export interface Unlisted {
  readonly heads: readonly JournalHead[]
  readonly unclear: ReadonlyMap<StreamId, Head>
}

export interface JournalDeps {
  readonly store: Store
  readonly ids: IdSource
  readonly now: () => number
  readonly instance: InstanceId
  /** Signs the beginning of each stream. */
  readonly signer: JournalSigner
  /** Told how many events were committed. */
  readonly committed?: (events: number) => void
  /** Told of grants that ended with what was committed. */
  readonly ended?: (grants: readonly EndedGrant[]) => void
}

export class Journal {
  readonly #deps: JournalDeps
  readonly #streams = new Set<Stream>()
  readonly #idle: Stream[] = []

  constructor(deps: JournalDeps) {
    this.#deps = deps
  }

  /** As `Store.transact`; what `work` notes is appended as one page, when it notes anything. */
  async transact<T>(
    work: (tx: Tx, page: PageDraft) => Promise<T>,
    options?: { readonly flush?: 'wait' | 'later' },
  ): Promise<T> {
    const appended: Appended[] = []
    const ended: EndedGrant[] = []
    try {
      const result = await this.#deps.store.transact(async (tx) => {
        const draft = new PageDraft()
        const worked = await work(tx, draft)
        await enqueueTold(tx, draft.told, this.#deps.ids)
        if (draft.events.length > 0) appended.push(await this.#append(tx, draft))
        ended.splice(0, ended.length, ...draft.ended)
        return worked
      }, options)
      for (const one of appended) this.#committed(one)
      if (ended.length > 0) this.#deps.ended?.(ended)
      return result
    } catch (thrown) {
      // The page is there or not: rather than to guess, the next one begins another stream.
      for (const { stream, page } of appended) stream.unclear = headOf(page)
      throw thrown
    }
  }

  /** Heads of its streams that no checkpoint has listed; and those that streams may have, for all that is known. */
  unlisted(): Unlisted {
    const heads: JournalHead[] = []
    const unclear = new Map<StreamId, Head>()
    for (const stream of this.#streams) {
      const { id, head, listed } = stream
      if (head && head.sequence > listed) heads.push({ stream: id, ...head })
      if (stream.unclear) unclear.set(id, stream.unclear)
    }
    return { heads, unclear }
  }

  /** A checkpoint with these heads was committed. */
  listed(heads: readonly JournalHead[]): void {
    const sequences = new Map(heads.map(({ stream, sequence }) => [stream, sequence]))
    for (const stream of this.#streams)
      stream.listed = Math.max(stream.listed, sequences.get(stream.id) ?? 0)
  }

  #begin(): Stream {
    const stream: Stream = { id: this.#deps.ids('stream'), head: undefined, listed: 0 }
    this.#streams.add(stream)
    return stream
  }

  #compose({ id, head }: Stream, { events, batch }: PageDraft): JournalPage {
    const { now, instance, signer } = this.#deps
    const first = (head?.sequence ?? 0) + 1
    const previous = head?.hash ?? null
    const opening = head ? undefined : signOpening({ stream: id, instance }, signer)
    const content = { v: 1, stream: id, first, previous, instance, opening } as const
    return {
      stream: id,
      first,
      last: first + events.length - 1,
      ...composePage({ ...content, at: now(), batch, events }),
    }
  }

  /** When it fails, the transaction is surely rolled back, and the stream stands where it stood. */
  async #append(tx: Tx, draft: PageDraft): Promise<Appended> {
    if (this.#idle.length === 0) this.#idle.push(this.#begin())
    const stream = this.#idle.at(-1) as Stream
    const page = this.#compose(stream, draft)
    this.#idle.pop()
    try {
      if (!stream.head) await this.#record(tx, stream)
      await tx.journal.append(page)
      return { stream, page }
    } catch (thrown) {
      // What stands there already is not ours; whoever wrote it must not keep calls from being recorded.
      if (!(thrown instanceof TypeError)) this.#idle.push(stream)
      throw thrown
    }
  }

  async #record(tx: Tx, { id }: Stream): Promise<void> {
    const { instance, now } = this.#deps
    await tx.journal.begin({ id, instance, startedAt: now(), covered: 0, endedAt: null })
  }

  #committed({ stream, page }: Appended): void {
    stream.head = headOf(page)
    this.#idle.push(stream)
    this.#deps.committed?.(page.last - page.first + 1)
  }
}

function headOf({ last, hash }: JournalPage): Head {
  return { sequence: last, hash }
}
