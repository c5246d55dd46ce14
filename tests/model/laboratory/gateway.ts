/** A gateway: the real call path over the laboratory's store and wire, and the chores of a running one. */
import {
  CallDesk,
  expireApprovals,
  GroupCommit,
  Journal,
  leaseMs,
  Orphans,
  Recovery,
  type Store,
  sealDigests,
  type WorkerPort,
} from '@sallyport/core'
import type { IdSource, InstanceId, IntentId } from '@sallyport/protocol'
import type { JournalSigner } from '@sallyport/protocol/node'
import { bodies } from '../../call/call-world.ts'
import type { HeldTimers } from './held-timers.ts'
import { HeldLink } from './link.ts'
import { toolsets } from './rows.ts'
import type { Program, Steps } from './steps.ts'
import type { HeldChannel } from './wire.ts'

/** What a sabotage changes of a gateway; each gives back what it is given when nothing is to be changed. */
export interface GatewayParts {
  readonly store: (store: Store) => Store
  readonly worker: (port: WorkerPort) => WorkerPort
  readonly deskOfRecovery: (desk: CallDesk) => CallDesk
  readonly timeOfRecovery: (now: () => number) => () => number
  readonly adopts: boolean
  readonly expires: boolean
  /** Asks what became of a batch whose commit is unclear. */
  readonly suspects: boolean
}

export const soundGateway: GatewayParts = {
  store: (store) => store,
  worker: (port) => port,
  deskOfRecovery: (desk) => desk,
  timeOfRecovery: (now) => now,
  adopts: true,
  expires: true,
  suspects: true,
}

export interface GatewayOptions {
  readonly program: Program
  readonly store: Store
  readonly steps: Steps
  readonly timers: HeldTimers
  readonly ids: IdSource
  readonly signer: JournalSigner
  readonly provedGone: (worker: string) => boolean
  readonly dial: () => HeldChannel
  readonly parts: GatewayParts
}

export class Gateway {
  readonly program: Program
  readonly instance: InstanceId
  readonly store: Store
  readonly journal: Journal
  readonly desk: CallDesk
  readonly #options: GatewayOptions
  readonly #group: GroupCommit
  readonly #recovery: Recovery
  readonly #orphans: Orphans
  readonly #link: HeldLink
  readonly #startedAt: number
  readonly #due = new Set<string>()
  /** Serves: its lease is held. */
  isStarted = false

  constructor(options: GatewayOptions) {
    const { program, ids, signer, timers, provedGone, parts } = options
    const { now } = timers
    const report = (): void => {}
    const gateway = ids('instance')
    const store = parts.store(options.store)
    const link = new HeldLink(options)
    const worker = parts.worker(link)
    const journal = new Journal({ store, ids, now, instance: gateway, signer })
    const group = new GroupCommit({
      journal,
      worker,
      bodies,
      ids,
      now,
      gateway,
      sealDigest: sealDigests(),
      suspect: (rows) => parts.suspects && this.#recovery.suspect(rows),
      report,
    })
    const common = { group, store, bodies, toolsets, gateway, report }
    const desk = new CallDesk({ ...common, worker, ids, now })
    const orphans = new Orphans({
      ...common,
      holds: desk.holds,
      passed: (row, waiter) => desk.passed(row, waiter),
    })
    this.program = program
    this.instance = gateway
    this.store = store
    this.journal = journal
    this.desk = desk
    this.#options = options
    this.#group = group
    this.#orphans = orphans
    this.#link = link
    this.#startedAt = now()
    this.#recovery = new Recovery({
      store,
      journal,
      worker,
      desk: parts.deskOfRecovery(desk),
      gateway,
      now: parts.timeOfRecovery(now),
      provedGone,
      report,
    })
  }

  /** Takes its lease in that store. */
  async takeLease(store: Store): Promise<void> {
    await store.transact(async (tx) =>
      tx.instances.renew({ ...this.#lease, leaseUntil: (await tx.now()) + leaseMs }),
    )
  }

  start(): void {
    this.isStarted = true
    this.store.listen((decided) => void this.#orphans.heard(decided).catch(() => {}))
    this.#link.start({
      result: (head, raw) => {
        if (this.desk.onResult(head, raw)) this.#recovery.forget(head.intent as IntentId)
      },
      progress: () => {},
      observed: () => {},
      lost: (ids) => {
        this.#recovery.lost(ids)
        this.#round()
      },
      up: () => this.#round(),
    })
  }

  /** What it does from time to time is due; what still waits is not due twice. */
  holdChores(): void {
    const { now } = this.#options.timers
    this.#holdChore('renews its lease', () => this.#group.renew(this.#lease))
    this.#holdChore('looks for what was left', () => void this.#sweep().catch(() => {}))
    this.#holdChore('asks what became of orders', () => this.#round())
    if (this.#options.parts.expires)
      this.#holdChore(
        'lets approvals expire',
        () => void expireApprovals(this, now()).catch(() => {}),
      )
  }

  #holdChore(name: string, work: () => void): void {
    const { program, steps } = this.#options
    if (this.#due.has(name)) return
    this.#due.add(name)
    const run = (): void => {
      this.#due.delete(name)
      work()
    }
    steps.hold({ program, lane: `chores of ${program.lane}`, options: [{ name, run }] })
  }

  get #lease(): { id: InstanceId; startedAt: number } {
    return { id: this.instance, startedAt: this.#startedAt }
  }

  async #sweep(): Promise<void> {
    if (this.#options.parts.adopts) await this.#recovery.adopt()
    await this.#orphans.look()
  }

  #round(): void {
    this.#recovery.round().catch(() => {})
  }
}
