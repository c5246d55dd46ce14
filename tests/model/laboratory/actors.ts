/** The people of the laboratory. */
import { type CallOutcome, type Execution, revokeGrants } from '@sallyport/core'
import { settledEvent } from '../../../packages/core/src/journal/events.ts'
import type { Gateway } from './gateway.ts'
import type { Actor, Laboratory } from './laboratory.ts'
import { administrator, session, tools } from './rows.ts'
import { type Option, Program } from './steps.ts'

export interface Wanted {
  readonly at: 0 | 1
  readonly tool: keyof typeof tools
  readonly argumentsText: string
}

interface Ask {
  readonly wanted: Wanted
  readonly callId: string
  readonly gateway: Gateway
  readonly abort: AbortController
  outcome: CallOutcome | undefined
}

/** Calls, asks again once when it is told or has to believe that nothing came of it, and changes its mind. */
export class Guest implements Actor {
  readonly #program = new Program('the guest', 'guest')
  readonly #wanted: readonly Wanted[]
  readonly #asks: Ask[] = []
  #mayAskAgain: number
  #mayCancel = true
  #calls = 0

  constructor(...wanted: readonly Wanted[]) {
    this.#wanted = wanted
    this.#mayAskAgain = wanted.length
  }

  begin(laboratory: Laboratory): void {
    for (const wanted of this.#wanted) this.#hold(laboratory, wanted, this.#newCallId())
  }

  died(laboratory: Laboratory, program: Program): void {
    for (const { gateway, outcome, wanted, callId } of this.#asks) {
      if (gateway.program !== program || outcome) continue
      this.#askAgain(
        laboratory,
        wanted.at === 0 ? { ...wanted, at: 1 } : { ...wanted, at: 0 },
        callId,
      )
    }
  }

  whims(): Option[] {
    const [open] = this.#open()
    if (!open || !this.#mayCancel) return []
    const cancel = (): void => {
      this.#mayCancel = false
      open.abort.abort()
    }
    return [{ name: 'the guest cancels', run: cancel }]
  }

  waits(): boolean {
    return this.#open().length > 0
  }

  over({ laws }: Laboratory): void {
    for (const { outcome } of this.#asks) if (outcome) laws.told(outcome)
    for (const { callId } of this.#open()) laws.leftWaiting(callId)
  }

  #open(): Ask[] {
    return this.#asks.filter(({ gateway, outcome }) => gateway.program.isAlive && !outcome)
  }

  #newCallId(): string {
    return `call ${++this.#calls}`
  }

  #hold(laboratory: Laboratory, wanted: Wanted, callId: string): void {
    const name = `asks gateway ${wanted.at} for a ${wanted.tool} (${callId})`
    const run = (): void => this.#ask(laboratory, wanted, callId)
    laboratory.steps.hold({ program: this.#program, options: [{ name, run }] })
  }

  #askAgain(laboratory: Laboratory, wanted: Wanted, callId: string): void {
    if (this.#mayAskAgain-- > 0) this.#hold(laboratory, wanted, callId)
  }

  #ask(laboratory: Laboratory, wanted: Wanted, callId: string): void {
    const gateway = laboratory.gateways[wanted.at] as Gateway
    const abort = new AbortController()
    const ask: Ask = { wanted, callId, gateway, abort, outcome: undefined }
    this.#asks.push(ask)
    laboratory.steps.running = gateway.program
    const { argumentsText, tool } = wanted
    const request = { session, tool: tools[tool], argumentsText, callId, signal: abort.signal }
    void gateway.desk.call(request).then((outcome) => {
      ask.outcome = outcome
      if (outcome.kind === 'failure')
        this.#askAgain(
          laboratory,
          wanted,
          outcome.code === 'call_in_flight' ? callId : this.#newCallId(),
        )
    })
  }
}

/** Resolves what is unknown, as a person does by the other gateway. */
export class Resolver implements Actor {
  readonly #seen = new Set<string>()

  look(laboratory: Laboratory, rows: readonly Execution[]): void {
    for (const row of rows) {
      if (row.state !== 'unknown' || this.#seen.has(row.id)) continue
      this.#seen.add(row.id)
      this.#hold(laboratory, row)
    }
  }

  #hold(laboratory: Laboratory, { id }: Execution): void {
    const { program, journal } = laboratory.gateways[1] as Gateway
    const resolution = {
      id,
      from: ['unknown'],
      state: 'resolved',
      finishedAt: laboratory.timers.now(),
    } as const
    const resolve = (): Promise<void> =>
      journal.transact(async (tx, page) => {
        const [sequence] = await tx.executions.settle([resolution])
        if (sequence !== undefined) page.note(settledEvent(resolution, sequence))
      })
    const run = (): void => void resolve().catch(() => {})
    const options = [{ name: `is told by a person how ${id} ended`, run }] as const
    laboratory.steps.hold({ program, lane: 'people', options })
  }
}

/** Takes the grant of the session back, at any moment. */
export class Revoker implements Actor {
  readonly #program = new Program('the administrator', 'people')
  #hasRevoked = false

  whims(laboratory: Laboratory): Option[] {
    if (this.#hasRevoked) return []
    const run = (): void => {
      this.#hasRevoked = true
      laboratory.steps.running = this.#program
      const { ids } = laboratory
      const deps = { store: laboratory.storeOf(this.#program), ids, random: () => new Uint8Array() }
      const asked = { profile: 'coding', connection: 'counter', tools: '*' }
      revokeGrants(deps, administrator, asked).then(
        () => laboratory.laws.revoked(),
        () => {},
      )
    }
    return [{ name: 'the administrator begins to revoke', run }]
  }
}
