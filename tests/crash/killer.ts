/** Kills by plan, looks at what the database says then, and brings everything back. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../system/random.ts'
import type { CrashWorld } from './crash-world.ts'
import type { Crowd } from './crowd.ts'
import type { GatewayHost } from './gateway-host.ts'
import { historyLaws, momentLaws } from './laws.ts'
import type { Ledger } from './ledger.ts'
import { monotonicMs, type Role } from './preload/step-book.ts'
import { type Kill, type MomentKill, nameOf, type StepKill } from './steps.ts'

export interface KillerOptions {
  readonly world: CrashWorld
  readonly crowd: Crowd
  readonly random: Random
  /** The database can be read only while no gateway runs. */
  readonly isEmbedded: boolean
}

export interface Done {
  readonly kill: string
  /** Whether the step was taken in time; else they were killed at some moment. */
  readonly isHit: boolean
  /** Writes in flight then. */
  readonly inFlight: number
}

const hitWithinMs = 4_000
const nthAtMost = 5
/** From the last start to the next plan. */
const warmMs = 400
const momentMs = 800
/** What is killed by another process is gone then. */
const goneMs = 20

export class Killer {
  readonly done: Done[] = []
  readonly problems: string[] = []
  readonly #options: KillerOptions
  #seen: Ledger | undefined

  constructor(options: KillerOptions) {
    this.#options = options
  }

  /** At the database, after the last kill. */
  get seen(): Ledger | undefined {
    return this.#seen
  }

  async play(kills: readonly Kill[]): Promise<void> {
    const { hosts } = this.#options.world
    for (const [at, kill] of kills.entries()) {
      const host = hosts[at % hosts.length] as GatewayHost
      if ('step' in kill) await this.#atStep(kill, host)
      else await this.#atMoment(kill, host)
    }
  }

  async #atStep(kill: StepKill, host: GatewayHost): Promise<void> {
    const nth = 1 + this.#options.random.below(nthAtMost)
    await sleep(this.#options.random.below(warmMs))
    if (kill.after) await this.#strike(kill.after, { host, nth: 1 })
    await this.#strike(kill, {
      host,
      nth: kill.isRare ? 1 : nth,
      isStarting: kill.after !== undefined,
    })
    await this.#goOn(nameOf(kill), host)
  }

  /** Resolves when they are dead, at their step or else at some moment. */
  async #strike(
    kill: StepKill,
    { host, nth, isStarting = false }: { host: GatewayHost; nth: number; isStarting?: boolean },
  ): Promise<void> {
    const { guestUrl } = host.sallyport
    const plan = this.#arm(kill, host, nth)
    if (isStarting) await host.revive()
    const { plans } = kill.role === 'upstream' ? this.#options.world.upstream : host
    const hit = await plans.hit(plan, hitWithinMs)
    if (!hit) await this.#end(host, kill.victims)
    plans.disarm()
    await sleep(goneMs)
    this.#note(nameOf(kill), { at: hit?.at ?? monotonicMs(), guestUrl, isHit: hit !== undefined })
  }

  async #atMoment(kill: MomentKill, host: GatewayHost): Promise<void> {
    const { random } = this.#options
    const { guestUrl } = host.sallyport
    await sleep(random.below(momentMs))
    const at = monotonicMs()
    await this.#end(host, kill.victims)
    if (kill.whileStarting) await host.sallyport.killStarting(random.below(momentMs))
    await this.#goOn(nameOf(kill), host)
    this.#note(nameOf(kill), { at, guestUrl, isHit: true })
  }

  async #goOn(name: string, host: GatewayHost): Promise<void> {
    const { upstream } = this.#options.world
    await this.#look(name)
    if (!upstream.isAlive) await upstream.start()
    host.plans.tellPid('upstream', upstream.pid)
    await host.revive()
  }

  #note(kill: string, { at, guestUrl, isHit }: { at: number; guestUrl: string; isHit: boolean }) {
    const { crowd } = this.#options
    this.done.push({ kill, isHit, inFlight: crowd.inFlight(at, guestUrl) })
  }

  #arm(kill: StepKill, host: GatewayHost, nth: number): number {
    const { upstream } = this.#options.world
    const { role, step, phase, victims } = kill
    host.plans.tellPid('upstream', upstream.pid)
    for (const one of ['gateway', 'worker'] as const)
      upstream.plans.tellPid(one, host.plans.pid(one) ?? 0)
    const { plans } = role === 'upstream' ? upstream : host
    return plans.arm({ role, step, phase, nth, act: 'kill', victims })
  }

  async #end(host: GatewayHost, roles: readonly Role[]): Promise<void> {
    const { upstream } = this.#options.world
    for (const role of roles) await (role === 'upstream' ? upstream.kill() : host.kill(role))
  }

  /** After the kill and before the next start. */
  async #look(name: string): Promise<void> {
    const { world, isEmbedded } = this.#options
    const { readLedger, upstream, hosts } = world
    if (isEmbedded && hosts.some(({ isUp }) => isUp)) return
    // What took effect was durable before: so it is read first.
    const effects = upstream.effects()
    const ledger = await readLedger()
    const found = momentLaws(ledger, effects)
    if (this.#seen) found.push(...historyLaws(this.#seen, ledger))
    this.#seen = ledger
    this.problems.push(...found.map((problem) => `${name}: ${problem}`))
  }
}
