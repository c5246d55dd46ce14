import type {
  Instance,
  JournalCheckpoint,
  JournalKey,
  JournalPage,
  JournalStream,
  JournalWrites,
  KeptPage,
} from '@sallyport/core'
import type { InstanceId, StreamId } from '@sallyport/protocol'
import type { JournalHead } from '@sallyport/protocol/node'
import { type MemoryRows, putNew } from './memory-rows.ts'
import type { MemoryTables } from './memory-tables.ts'
import { sorted } from './sort.ts'

export class MemoryJournal implements JournalWrites {
  readonly #streams: MemoryRows<JournalStream>
  readonly #pages: MemoryRows<KeptPage>
  readonly #checkpoints: MemoryRows<JournalCheckpoint>
  readonly #keys: MemoryRows<JournalKey>
  readonly #instances: MemoryRows<Instance>

  constructor(rows: MemoryTables) {
    this.#streams = rows.journalStreams
    this.#pages = rows.journalPages
    this.#checkpoints = rows.journalCheckpoints
    this.#keys = rows.journalKeys
    this.#instances = rows.instances
  }

  async pages(after: number, until: number, limit: number): Promise<KeptPage[]> {
    const pages = this.#pages.all().filter(({ position }) => position > after && position <= until)
    return pages.sort((a, b) => a.position - b.position).slice(0, limit)
  }

  async lastPosition(): Promise<number> {
    return this.#pages.all().reduce((last, { position }) => Math.max(last, position), 0)
  }

  async checkpoints(after: number, until: number, limit: number): Promise<JournalCheckpoint[]> {
    const wanted = this.#inOrder().filter(({ sequence }) => sequence > after && sequence <= until)
    return wanted.slice(0, limit)
  }

  async newestCheckpoint(at?: number): Promise<JournalCheckpoint | undefined> {
    if (at === undefined) return this.#inOrder().at(-1)
    const before = this.#inOrder().filter((checkpoint) => checkpoint.at <= at)
    return before.sort((a, b) => a.at - b.at || a.sequence - b.sequence).at(-1)
  }

  async keys(): Promise<JournalKey[]> {
    return sorted(this.#keys.all(), ({ kid }) => kid).sort((a, b) => a.at - b.at)
  }

  async begin(stream: JournalStream): Promise<void> {
    putNew(this.#streams, stream.id, stream)
  }

  async append(page: JournalPage): Promise<void> {
    const { stream, first } = page
    if (this.#pages.all().some((one) => one.stream === stream && one.first === first))
      this.#pages.collide()
    this.#pages.put({ ...page, position: (await this.lastPosition()) + 1 })
  }

  async holdPages(): Promise<void> {}

  async holdChain(): Promise<void> {}

  async addCheckpoint(checkpoint: JournalCheckpoint): Promise<void> {
    putNew(this.#checkpoints, String(checkpoint.sequence), checkpoint)
  }

  async cover(heads: readonly JournalHead[]): Promise<void> {
    for (const { stream, sequence } of heads) {
      const known = this.#streams.get(stream)
      if (known && known.covered < sequence) this.#streams.put({ ...known, covered: sequence })
    }
  }

  async orphans(now: number, except: InstanceId): Promise<StreamId[]> {
    const orphans = this.#streams.all().filter(({ endedAt, instance }) => {
      const lease = this.#instances.get(instance)
      return endedAt === null && instance !== except && !(lease && lease.leaseUntil > now)
    })
    return sorted(orphans, ({ id }) => id).map(({ id }) => id)
  }

  async uncovered(streams: readonly StreamId[]) {
    return streams.flatMap((id) => {
      const pages = this.#pages.all().filter(({ stream }) => stream === id)
      const newest = pages.sort((a, b) => a.first - b.first).at(-1)
      const covered = this.#streams.get(id)?.covered
      if (!newest || covered === undefined || newest.last <= covered) return []
      return [{ stream: id, sequence: newest.last, hash: newest.hash }]
    })
  }

  async endStreams(streams: readonly StreamId[], at: number): Promise<void> {
    for (const id of streams) {
      const stream = this.#streams.get(id)
      if (stream?.endedAt === null) this.#streams.put({ ...stream, endedAt: at })
    }
  }

  async addKey(key: JournalKey): Promise<void> {
    if (!this.#keys.get(key.kid)) this.#keys.put(key)
  }

  #inOrder(): JournalCheckpoint[] {
    return this.#checkpoints.all().sort((a, b) => a.sequence - b.sequence)
  }
}
