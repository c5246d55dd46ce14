/** A gateway as far as it records: its journal and its checkpoints over a real store, and an auditor who reads them. */
import { randomBytes } from 'node:crypto'
import {
  Checkpoints,
  type Execution,
  type ExportPart,
  Journal,
  leaseMs,
  type Settlement,
  type Store,
} from '@sallyport/core'
import { type InstanceId, idSource } from '@sallyport/protocol'
import { batchOf, type JournalReport, type JournalSigner } from '@sallyport/protocol/node'
import { verifyRunning } from '../../apps/cli/src/audit/verify-journal.ts'
import { auditHandlers } from '../../apps/gateway/src/api/audit.ts'
import {
  claimedEvent,
  recordedEvent,
  settledEvent,
} from '../../packages/core/src/journal/events.ts'
import { sampleSigner } from '../../packages/protocol/src/journal/sample-journal.ts'
import { exampleExecution } from '../../packages/store/src/contract/examples.ts'

type Handlers = ReturnType<typeof auditHandlers>

/** Reads a journal as the command line does. */
export class Auditor {
  readonly #audit: Handlers

  constructor(
    store: Store,
    checkpoints: Pick<Checkpoints, 'write' | 'newest'>,
    now: () => number = Date.now,
  ) {
    this.#audit = auditHandlers({ store, checkpoints, now })
  }

  /** As `sallyport audit verify`. */
  verify(): Promise<JournalReport> {
    const call = (name: keyof Handlers, asked: { query?: object; body?: object }) =>
      this.#audit[name]({ query: {}, body: {}, ...asked } as never)
    return verifyRunning(call as unknown as Parameters<typeof verifyRunning>[0])
  }

  part(query: object): Promise<ExportPart> {
    return this.#audit['audit.export']({ query } as never)
  }

  /** As `sallyport audit export`. */
  async export(asked: { since?: string; resume?: string } = {}): Promise<string[]> {
    let part = await this.part(asked)
    const lines = [...part.lines]
    while (part.next !== null) {
      part = await this.part({ next: part.next })
      lines.push(...part.lines)
    }
    return lines
  }
}

export class Recorder {
  readonly store: Store
  readonly instance: InstanceId
  readonly journal: Journal
  readonly checkpoints: Checkpoints
  readonly auditor: Auditor
  readonly reported: unknown[] = []
  /** ms since 1970, for everything but the database. */
  clock: () => number
  readonly #ids = idSource(Date.now, randomBytes)
  readonly #signer: JournalSigner

  constructor(store: Store, given: { seed?: number; clock?: () => number } = {}) {
    this.store = store
    this.clock = given.clock ?? Date.now
    this.instance = this.#ids('instance')
    this.#signer = sampleSigner(given.seed)
    const signer = this.#signer
    const common = { store, instance: this.instance, signer, now: () => this.clock() }
    const committed = (events: number) => this.checkpoints.noteEvents(events)
    this.journal = new Journal({ ...common, ids: this.#ids, committed })
    this.checkpoints = new Checkpoints({
      ...common,
      journal: this.journal,
      report: (error) => this.reported.push(error),
    })
    this.auditor = new Auditor(store, this.checkpoints, () => this.clock())
  }

  /** Records its key and takes a lease, as a gateway does when it starts. */
  async begin(): Promise<this> {
    const { kid, jwk } = this.#signer
    await this.store.transact(async (tx) => {
      await tx.journal.addKey({ kid, jwk, at: 0 })
      const leaseUntil = (await tx.now()) + leaseMs
      await tx.instances.renew({ id: this.instance, startedAt: this.clock(), leaseUntil })
    })
    return this
  }

  /** As many calls in one transaction, and what became of earlier ones. */
  async pass(count: number, settled: readonly Execution[] = []): Promise<Execution[]> {
    const rows = Array.from({ length: count }, () => this.newCall())
    await this.journal.transact(async (tx, page) => {
      const outcomes = settled.map(outcomeOf)
      const sequences = await tx.executions.settle(outcomes)
      outcomes.forEach((outcome, at) => {
        if (sequences[at] !== undefined) page.note(settledEvent(outcome, sequences[at]))
      })
      await tx.executions.insert(rows)
      for (const row of rows) page.note(recordedEvent(row))
      if (rows.length > 0)
        page.batch = batchOf(rows.map(({ intentDigest }) => String(intentDigest)))
    })
    return rows
  }

  /** Takes over a call of another. False when somebody else was faster. */
  claim(row: Execution): Promise<boolean> {
    return this.journal.transact(async (tx, page) => {
      const sequence = await tx.executions.claim(row.id, row.gatewayInstance, this.instance)
      if (sequence === undefined) return false
      page.note(claimedEvent(row, this.instance, sequence, this.clock()))
      return true
    })
  }

  newCall(): Execution {
    return exampleExecution({
      id: this.#ids('execution'),
      callId: this.#ids('intent'),
      gatewayInstance: this.instance,
    })
  }

  verify(): Promise<JournalReport> {
    return this.auditor.verify()
  }
}

function outcomeOf({ id }: Execution): Settlement {
  return {
    id,
    from: ['dispatching'],
    state: 'succeeded',
    code: null,
    finishedAt: Date.now(),
    resultDigest: `sha256:${'c'.repeat(64)}`,
    resultBytes: 200,
  }
}
