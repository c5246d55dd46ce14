/** The call path of a gateway over a link that dials again at once. */
import {
  CallDesk,
  type CallOutcome,
  GroupCommit,
  Journal,
  Recovery,
  sealDigests,
  type Toolsets,
} from '@sallyport/core'
import { type InstanceId, type IntentId, idSource } from '@sallyport/protocol'
import { openMemoryStore } from '@sallyport/store'
import { type Clock, systemClock } from '../../apps/gateway/src/worker/clock.ts'
import { WorkerLink } from '../../apps/gateway/src/worker/link.ts'
import { helloOf, identityOf } from '../../apps/gateway/src/worker/scripted-worker.ts'
import { sampleSigner } from '../../packages/protocol/src/journal/sample-journal.ts'
import { bodies, Clock as ClockOfWorld, readTool, type World, worldOn } from '../call/call-world.ts'

/** Who dials again does so at once; whoever waits for an answer waits as long as ever. */
const fastClock: Clock = {
  ...systemClock,
  after: (ms, run) => systemClock.after(ms <= 1_000 ? ms / 50 : ms, run),
}
/** The rows of the world are of the year 1970. */
const now = (): number => 10_000 + Math.round(performance.now())

class RunningClock extends ClockOfWorld {
  override readonly now = now
}

export class GatewaySide {
  /** What went wrong inside and was not told as a code. */
  readonly reported: unknown[] = []
  readonly #world: World
  readonly #desk: CallDesk
  readonly #link: WorkerLink
  readonly #group: GroupCommit
  #calls = 0

  private constructor(world: World, path: string) {
    this.#world = world
    this.#link = new WorkerLink({
      address: { path },
      identity: () => identityOf('gateway'),
      clock: fastClock,
      hello: () => helloOf({ role: 'gateway', instance: 'ins_gateway' }),
      log: { info: () => {}, warn: () => {}, error: () => {} },
    })
    const { store } = world
    const report = (error: unknown): void => void this.reported.push(error)
    const ids = idSource(now, (size) => crypto.getRandomValues(new Uint8Array(size)))
    const gateway = ids('instance') as InstanceId
    const journal = new Journal({ store, ids, now, instance: gateway, signer: sampleSigner() })
    const toolsets: Toolsets = {
      of: async () => ({ tools: [readTool], find: () => undefined }),
      callable: async () => [readTool],
    }
    const common = {
      store,
      journal,
      bodies,
      toolsets,
      worker: this.#link,
      ids,
      now,
      gateway,
      report,
    }
    const group: GroupCommit = new GroupCommit({
      ...common,
      sealDigest: sealDigests(),
      suspect: (rows) => recovery.suspect(rows),
    })
    this.#group = group
    this.#desk = new CallDesk({ ...common, group })
    // Its process has ended for all that is known here: whatever it does not answer for is lost at once.
    const recovery = new Recovery({ ...common, desk: this.#desk, provedGone: () => true })
    const round = (): void => void recovery.round().catch(report)
    this.#link.start({
      result: (head, raw) => {
        if (this.#desk.onResult(head, raw)) recovery.forget(head.intent as IntentId)
      },
      progress: (head) => this.#desk.onProgress(head),
      observed: () => {},
      late: (head) => this.#desk.onLate(head),
      lost: (lost) => {
        recovery.lost(lost)
        round()
      },
      up: round,
    })
  }

  static async start(path: string): Promise<GatewaySide> {
    const world = await worldOn(openMemoryStore({ now }), new RunningClock())
    const side = new GatewaySide(world, path)
    await side.up()
    return side
  }

  /** Resolves when the worker is there. */
  async up(): Promise<void> {
    await this.#link.whenUp(60_000)
  }

  call(argumentsText: string): Promise<CallOutcome> {
    return this.#desk.call({
      session: this.#world.session,
      tool: readTool,
      argumentsText,
      era: 'legacy',
      callId: String(++this.#calls),
    })
  }

  /** What it has to record is recorded first: with a store that is gone it would be tried again without end. */
  async stop(): Promise<void> {
    await this.#link.stop()
    await this.#group.drained()
    await this.#world.close()
  }
}
