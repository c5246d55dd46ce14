/**
 * Runs inside a process that is to be killed: counts the named steps it takes, and does at one of them what the harness
 * has planned. Plans come as a file, because a process that is about to be killed or stopped reads no messages.
 */
import { appendFileSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const roles = ['gateway', 'worker', 'upstream'] as const
export type Role = (typeof roles)[number]
export type Phase = 'before' | 'after'

/** How a process learns which one it is; as JSON in the environment variable `SALLYPORT_CRASH`. */
export interface CrashEnvironment {
  readonly role: Role
  /** Of plans, hits and process ids. */
  readonly folder: string
  /** Added to the wall clock of this process. */
  readonly skewMs?: number
  readonly postgres?: boolean
  /** The worker's clock, which its gateway passes on. */
  readonly workerSkewMs?: number
}

export interface Plan {
  /** Counting begins anew with each; it is done once. */
  readonly id: number
  readonly role: Role
  readonly step: string
  readonly phase: Phase
  /** The how-many-eth time, from 1. */
  readonly nth: number
  /**
   * `kill`: SIGKILL for `victims`. `stop`: SIGSTOP of this process. `hold`: what would come next waits until the file
   * `release-<id>` is there; only where a step can wait.
   */
  readonly act: 'kill' | 'stop' | 'hold'
  readonly victims: readonly Role[]
}

export interface Hit {
  readonly plan: number
  readonly role: Role
  readonly pid: number
  readonly step: string
  readonly phase: Phase
  readonly nth: number
  /** Statements of the open transaction so far. */
  readonly within: readonly string[]
  /** By `monotonicMs`. */
  readonly at: number
}

/** The same for all processes of a machine, whatever their wall clocks say. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)

export const planFile = (folder: string, role: Role): string => join(folder, `${role}.plan.json`)
export const pidFile = (folder: string, role: Role): string => join(folder, `${role}.pid`)
export const hitsFile = (folder: string): string => join(folder, 'hits.jsonl')
export const releaseFile = (folder: string, plan: number): string => join(folder, `release-${plan}`)

const lookAgainMs = 5

export class StepBook {
  readonly #environment: CrashEnvironment
  #plan: Plan | undefined
  #seen = ''
  #count = 0

  constructor(environment: CrashEnvironment) {
    this.#environment = environment
  }

  /** A step with one or more names is about to be taken, or was taken. */
  reach(names: readonly string[], phase: Phase, within: readonly string[] = []): void {
    const plan = this.#due(names, phase)
    if (!plan || plan.act === 'hold') return
    this.#note(plan, within)
    if (plan.act === 'stop') process.kill(process.pid, 'SIGSTOP')
    else this.#kill(plan)
  }

  /** Likewise, where what comes next can wait: it has to, when there is a promise. */
  wait(
    names: readonly string[],
    phase: Phase,
    within: readonly string[] = [],
  ): Promise<void> | undefined {
    if (this.#newest()?.act !== 'hold') {
      this.reach(names, phase, within)
      return undefined
    }
    const plan = this.#due(names, phase)
    if (!plan) return undefined
    this.#note(plan, within)
    return this.#hold(plan)
  }

  #due(names: readonly string[], phase: Phase): Plan | undefined {
    const plan = this.#newest()
    if (!plan || plan.phase !== phase || !names.includes(plan.step)) return undefined
    this.#count++
    return this.#count === plan.nth ? plan : undefined
  }

  #kill({ victims, role }: Plan): void {
    for (const victim of victims) if (victim !== role) end(this.#pidOf(victim))
    if (victims.includes(role)) process.kill(process.pid, 'SIGKILL')
  }

  #pidOf(role: Role): number {
    return Number(readFileSync(pidFile(this.#environment.folder, role), 'utf8'))
  }

  #note({ id, role, step, phase, nth }: Plan, within: readonly string[]): void {
    const { pid } = process
    const { folder } = this.#environment
    // Once: whoever is started again in its place goes on.
    rmSync(planFile(folder, role), { force: true })
    const hit: Hit = { plan: id, role, pid, step, phase, nth, within, at: monotonicMs() }
    appendFileSync(hitsFile(folder), `${JSON.stringify(hit)}\n`)
  }

  async #hold({ id }: Plan): Promise<void> {
    const file = releaseFile(this.#environment.folder, id)
    while (!statSync(file, { throwIfNoEntry: false }))
      await new Promise((resolve) => setTimeout(resolve, lookAgainMs))
  }

  #newest(): Plan | undefined {
    const { folder, role } = this.#environment
    const file = planFile(folder, role)
    const found = statSync(file, { throwIfNoEntry: false })
    const seen = found ? `${found.ino} ${found.mtimeMs}` : ''
    if (seen === this.#seen) return this.#plan
    this.#seen = seen
    this.#count = 0
    this.#plan = found && JSON.parse(readFileSync(file, 'utf8'))
    return this.#plan
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}
