/**
 * Two gateways on one memory store, a worker, an upstream that counts: all of it real but the wire, the clock and the
 * upstream, and all of it standing still until a schedule lets one of them go on.
 */
import { createPublicKey } from 'node:crypto'
import { Checkpoints, type Execution, type Store } from '@sallyport/core'
import { idSource } from '@sallyport/protocol'
import type { Intent, JournalReport } from '@sallyport/protocol/node'
import { openMemoryStore } from '@sallyport/store'
import { sampleSigner } from '../../../packages/protocol/src/journal/sample-journal.ts'
import { Auditor } from '../../journal/journal-world.ts'
import { Database } from './database.ts'
import { Gateway, type GatewayParts, soundGateway } from './gateway.ts'
import { HeldTimers } from './held-timers.ts'
import { Laws } from './laws.ts'
import { fillStore, fillWaiting } from './rows.ts'
import { type Option, Program, Steps } from './steps.ts'
import { HeldChannel, Wire } from './wire.ts'
import { soundWorker, Worker, type WorkerParts } from './worker.ts'

/** Takes part besides the programs: a guest, a person who approves, one who resolves. */
export interface Actor {
  /** Once, before anything happens. */
  readonly begin?: (laboratory: Laboratory) => void
  /** After each commit. */
  readonly look?: (laboratory: Laboratory, rows: readonly Execution[]) => void
  readonly died?: (laboratory: Laboratory, program: Program) => void
  /** What it may do at any moment, as a fault may come at any moment. */
  readonly whims?: (laboratory: Laboratory) => readonly Option[]
  /** Whether something must still come for it. */
  readonly waits?: () => boolean
  /** When all is over; throws for what must not be. */
  readonly over?: (laboratory: Laboratory) => void
}

export interface LaboratoryOptions {
  readonly actors: readonly Actor[]
  readonly gateway?: Partial<GatewayParts>
  readonly worker?: Partial<WorkerParts>
  /** Whether gateways can tell that a worker has died. */
  readonly seesDeaths?: boolean
  /** Usually goes on after all others. */
  readonly slowLane?: 'worker'
  /** How many writes wait for a person from the beginning. */
  readonly waiting?: number
  /** Whether the journal is verified when all is over, which takes half of the time of a schedule. */
  readonly verifiesJournal?: boolean
}

interface Connection {
  readonly up: Wire
  readonly down: Wire
}

const signer = sampleSigner()
const workerSigner = { kid: signer.kid, publicKey: createPublicKey(signer.privateKey) }
/** Time goes on by that much, unless a timer comes first; together long enough for everything to be given up. */
const stepMs = 5_000
const timeSteps = 36
const unfinished: ReadonlySet<string> = new Set(['awaiting_approval', 'approved', 'dispatching'])

function nameOf(lane: string, life: number): string {
  return life === 1 ? lane : `${lane} (life ${life})`
}

export class Laboratory {
  readonly steps = new Steps()
  readonly timers = new HeldTimers(this.steps)
  readonly store: Store = openMemoryStore({ now: this.timers.now })
  readonly laws = new Laws(this.store, this.timers.now)
  readonly gateways: Gateway[] = []
  readonly ids = idSource(this.timers.now, (size) =>
    new Uint8Array(size).fill(++this.#serial & 255),
  )
  readonly #options: LaboratoryOptions
  readonly #time = new Program('time', 'time')
  readonly #connections = new Map<Program, Connection>()
  readonly #dead = new Set<string>()
  readonly #database: Database
  #worker: Worker
  #serial = 0
  #dials = 0
  #lives = 1
  #workers = 0
  #timeLeft = timeSteps
  #failure: unknown

  private constructor(options: LaboratoryOptions) {
    this.#options = options
    const { store, steps } = this
    this.#database = new Database({
      store,
      steps,
      decided: () => this.laws.decided(),
      committed: () => this.#guard(() => this.#committed()),
      kill: (program) => this.#kill(program),
    })
    this.#worker = this.#startWorker()
  }

  static async open(options: LaboratoryOptions): Promise<Laboratory> {
    const laboratory = new Laboratory(options)
    await fillStore(laboratory.store, signer)
    await fillWaiting(laboratory, signer, options.waiting ?? 0)
    for (const at of [0, 1]) {
      const gateway = laboratory.#newGateway(at, 1)
      await gateway.takeLease(laboratory.store)
      gateway.start()
      laboratory.gateways.push(gateway)
    }
    for (const actor of options.actors) actor.begin?.(laboratory)
    laboratory.#holdTime()
    return laboratory
  }

  /** The first thing that went wrong. */
  get failure(): unknown {
    return this.#failure
  }

  /** A commit failed, or got no answer. */
  get hasFailed(): boolean {
    return this.#database.hasFailed
  }

  /** The store as a program has it. */
  storeOf(program: Program): Store {
    return this.#database.of(program)
  }

  get slowLane(): string | undefined {
    return this.#options.slowLane
  }

  /** Whether something must still happen. */
  get isOpen(): boolean {
    return (
      this.laws.rows.some(({ state }) => unfinished.has(state)) ||
      this.#options.actors.some((actor) => actor.waits?.())
    )
  }

  /** Keeps what `work` throws. */
  check(work: () => void): void {
    try {
      work()
    } catch (thrown) {
      this.#failure ??= thrown
    }
  }

  /** What may come at any moment. */
  faults(): Option[] {
    const kills = [...this.gateways.map(({ program }) => program), this.#worker.program].map(
      (program) => ({ name: `${program.name} is killed`, run: () => this.#kill(program) }),
    )
    const cuts = [...this.#connections].map(([{ name }, { up, down }]) => ({
      name: `the connection of ${name} is cut`,
      run: () => {
        up.end()
        down.end()
      },
    }))
    const whims = this.#options.actors.flatMap((actor) => actor.whims?.(this) ?? [])
    return [...kills, ...cuts, ...whims]
  }

  /** Throws for what must not be when all is over. */
  async over(): Promise<void> {
    this.laws.over()
    for (const actor of this.#options.actors) actor.over?.(this)
    if (this.#options.verifiesJournal !== false) this.laws.verified(await this.#verifyJournal())
  }

  async #verifyJournal(): Promise<JournalReport> {
    const { store } = this
    const { now } = this.timers
    const report = (error: unknown): never => {
      throw error
    }
    const all = this.gateways.map(
      ({ instance, journal }) => new Checkpoints({ store, journal, signer, instance, now, report }),
    )
    for (const checkpoints of all) await checkpoints.write()
    return new Auditor(store, all[1] as Checkpoints, now).verify()
  }

  #newGateway(at: number, life: number): Gateway {
    const lane = `gateway ${at}`
    const program = new Program(nameOf(lane, life), lane)
    const { steps, timers, ids } = this
    return new Gateway({
      program,
      steps,
      timers,
      ids,
      signer,
      store: this.storeOf(program),
      provedGone: (worker) => this.#options.seesDeaths !== false && this.#dead.has(worker),
      dial: () => this.#connect(program),
      parts: { ...soundGateway, ...this.#options.gateway },
    })
  }

  #restart(at: number): void {
    const gateway = this.#newGateway(at, ++this.#lives)
    const { program } = gateway
    this.gateways[at] = gateway
    const start = async (): Promise<void> => {
      await gateway.takeLease(this.storeOf(program))
      gateway.start()
    }
    const run = (): void => void start().catch(() => this.#kill(program))
    this.steps.hold({ program, options: [{ name: `${program.name} starts`, run }] })
  }

  #startWorker(): Worker {
    const { steps, timers } = this
    return new Worker({
      program: new Program(nameOf('worker', ++this.#workers), 'worker'),
      instance: this.ids('instance'),
      steps,
      timers,
      signer: workerSigner,
      firstByte: (intent, pass) => this.#firstByte(intent, pass),
      parts: { ...soundWorker, ...this.#options.worker },
    })
  }

  #connect(program: Program): HeldChannel {
    const worker = this.#worker
    const number = ++this.#dials
    const down: Wire = new Wire(this.steps, `wire ${number} to ${program.name}`, {
      program,
      frame: (frame) => channel.frame(frame),
      ended: () => {
        if (this.#connections.get(program)?.down === down) this.#connections.delete(program)
        channel.ended()
      },
    })
    const source = worker.source(down)
    const up = new Wire(this.steps, `wire ${number} from ${program.name}`, {
      program: worker.program,
      frame: (frame) => this.#guard(async () => worker.frame(source, frame)),
      ended: () => worker.disconnected(source),
    })
    const channel: HeldChannel = new HeldChannel(worker.hello, up)
    this.#connections.set(program, { up, down })
    return channel
  }

  /** Its end is seen on the other side of its connections, after what it has written. */
  #kill(program: Program): void {
    if (!program.isAlive) return
    this.steps.end(program)
    if (program === this.#worker.program) {
      this.#dead.add(this.#worker.instance)
      for (const { down } of this.#connections.values()) down.end()
      this.#worker = this.#startWorker()
    }
    const at = this.gateways.findIndex((gateway) => gateway.program === program)
    if (at >= 0) {
      this.#connections.get(program)?.up.end()
      this.#connections.delete(program)
      this.#restart(at)
    }
    for (const actor of this.#options.actors) actor.died?.(this, program)
  }

  #holdTime(): void {
    if (this.#timeLeft <= 0) return
    const pass = (name: string, count: number): Option => ({
      name,
      run: () => {
        this.#timeLeft -= count
        this.timers.advance(count * stepMs)
        for (const gateway of this.gateways) gateway.holdChores()
        this.#holdTime()
      },
    })
    this.steps.hold({
      program: this.#time,
      options: [pass('passes', 1), pass('passes for long', 4)],
    })
  }

  async #firstByte(intent: Intent, pass: () => string | undefined): Promise<boolean> {
    if (pass() !== undefined) return false
    await this.#guard(() => this.laws.applied(intent))
    return true
  }

  async #committed(): Promise<void> {
    await this.laws.committed()
    for (const actor of this.#options.actors) actor.look?.(this, this.laws.rows)
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (thrown) {
      this.#failure ??= thrown
    }
  }
}
