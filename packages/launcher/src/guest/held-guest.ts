/** A guest behind its gate, whatever is around it. */
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BornProcess,
  compareEvidence,
  judgePlan,
  type SandboxEvidence,
  type SandboxPlan,
} from '@sallyport/protocol'
import { readEvidence } from '../evidence/read-evidence.ts'
import { type EndedGuest, endGuest } from '../process/end-guest.ts'
import { fateOf } from '../process/fate.ts'
import type { Destroyed, Guest, GuestEnd, Verification } from '../sandbox.ts'
import { goWord } from './gate.ts'
import type { HeldGate } from './spawn-gate.ts'

export interface HeldGuestOptions {
  readonly plan: SandboxPlan
  readonly process: BornProcess
  readonly held: HeldGate
  /** What ends the guest with its launcher listens at the gate: it stays open. */
  readonly isGuarded: boolean
  readonly channel: string | undefined
  readonly members: EndedGuest['members']
}

/** What is seen at one moment may be half of a change: the shell of the gate, say, that puts its descriptors in order. */
const settleMs = 500
const lookEveryMs = 5
const patience = 10_000

export class HeldGuest implements Guest {
  readonly plan: SandboxPlan
  readonly process: BornProcess
  readonly stdin: Guest['stdin']
  readonly stdout: Guest['stdout']
  readonly stderr: Guest['stderr']
  readonly ended: Promise<GuestEnd>
  readonly #options: HeldGuestOptions
  #isVerified = false
  #isReleased = false

  constructor(options: HeldGuestOptions) {
    const { plan, process, held } = options
    this.plan = plan
    this.process = process
    this.stdin = held.stdin
    this.stdout = held.stdout
    this.stderr = held.stderr
    this.#options = options
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null): void =>
        resolve({ code: exitCode(code, signal), wasStopped: !this.#isReleased })
      const { exitCode: code, signalCode: signal } = held.child
      if (code !== null || signal !== null) end(code, signal)
      else held.child.once('exit', end)
    })
  }

  async verify(): Promise<Verification> {
    const until = performance.now() + settleMs
    for (;;) {
      const looked = this.#look()
      const isSettled = looked.mismatches.length === 0 || this.#isReleased
      if (isSettled || performance.now() > until) {
        this.#isVerified = looked.mismatches.length === 0
        return looked
      }
      await sleep(lookEveryMs)
    }
  }

  release(): void {
    if (!this.#isVerified || this.#isReleased)
      throw new TypeError('only a guest that was verified is released, and once')
    this.#isReleased = true
    const { held, isGuarded } = this.#options
    held.gate.write(`${goWord}\n`)
    if (!isGuarded) held.gate.end()
  }

  channel(): string | undefined {
    return this.#options.channel
  }

  signal(name: NodeJS.Signals): void {
    // Its number may be another's by now.
    if (fateOf(this.process) !== 'running') return
    try {
      process.kill(-this.process.pid, name)
    } catch {
      // It ended meanwhile: `ended` tells.
    }
  }

  destroy(patienceMs: number = patience): Promise<Destroyed> {
    this.#isVerified = false
    const { held, members } = this.#options
    return endGuest({ first: this.process, starter: held.child, members, patienceMs })
  }

  #look(): Verification {
    const evidence = this.#evidence()
    const phase = this.#isReleased ? 'running' : 'held'
    const problems = [...judgePlan(this.plan), ...compareEvidence(this.plan, evidence, phase)]
    return { evidence, mismatches: problems }
  }

  #evidence(): SandboxEvidence {
    return readEvidence({ isolation: this.plan.isolation, process: this.process })
  }
}

function exitCode(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal])
}
