/** The people of the laboratory: they decide, resolve and revoke, through whichever gateway serves them. */
import {
  decideApproval,
  type Execution,
  type ResolutionInput,
  resolveExecution,
  revokeGrants,
} from '@sallyport/core'
import type { Gateway } from './gateway.ts'
import type { Actor, Laboratory } from './laboratory.ts'
import { people } from './rows.ts'
import { type Option, Program } from './steps.ts'

type Serve = (gateway: Gateway) => void

/** Somebody asks the API of a gateway, as soon as that serves. */
class Person {
  readonly #program: Program

  constructor(name: string) {
    this.#program = new Program(name, 'people')
  }

  /** The first choice is the usual one. */
  hold(
    { gateways, steps }: Laboratory,
    at: 0 | 1,
    choices: readonly (readonly [name: string, serve: Serve])[],
  ): void {
    const [usual, ...others] = choices.map(([name, serve]): Option => {
      const run = (): void => {
        const gateway = gateways[at] as Gateway
        steps.running = gateway.program
        serve(gateway)
      }
      return { name: `${name} at gateway ${at}`, run }
    })
    const isReady = (): boolean => gateways[at]?.isStarted === true
    if (usual) steps.hold({ program: this.#program, options: [usual, ...others], isReady })
  }
}

export interface Decider {
  readonly who: 0 | 1
  readonly at: 0 | 1
}

/** Decides about whatever waits, at any moment. */
export class Approver implements Actor {
  readonly #deciders: readonly Decider[]
  readonly #person = new Person('a person')
  readonly #seen = new Set<string>()

  constructor(...deciders: readonly Decider[]) {
    this.#deciders = deciders.length > 0 ? deciders : [{ who: 0, at: 1 }]
  }

  look(laboratory: Laboratory, rows: readonly Execution[]): void {
    for (const { id, state, approvalId, callId } of rows) {
      const isAsked = state === 'awaiting_approval' && !callId.startsWith('waiting')
      if (!isAsked || approvalId === null || this.#seen.has(id)) continue
      this.#seen.add(id)
      for (const decider of this.#deciders) this.#hold(laboratory, decider, approvalId)
    }
  }

  #hold(laboratory: Laboratory, { who, at }: Decider, id: string): void {
    const decide =
      (decision: 'approve' | 'deny'): Serve =>
      ({ journal }) => {
        decideApproval({ journal }, people[who], id, { decision }).then(
          (approval) => laboratory.check(() => laboratory.laws.confirmed(approval)),
          () => {},
        )
      }
    this.#person.hold(laboratory, at, [
      [`approves ${id}`, decide('approve')],
      [`denies ${id}`, decide('deny')],
    ])
  }
}

const words: readonly ResolutionInput[] = [
  { outcome: 'not_applied', note: '', allowRetry: false },
  { outcome: 'not_applied', note: '', allowRetry: true },
  { outcome: 'applied', note: '', allowRetry: false },
]

/** Says what became of whatever is unknown. */
export class Resolver implements Actor {
  readonly #person = new Person('a person')
  readonly #seen = new Set<string>()

  look(laboratory: Laboratory, rows: readonly Execution[]): void {
    for (const { id, state } of rows) {
      if (state !== 'unknown' || this.#seen.has(id)) continue
      this.#seen.add(id)
      const choices = words.map((input) => {
        const { outcome, allowRetry } = input
        const serve: Serve = ({ journal }) =>
          void resolveExecution({ journal }, people[0], id, input).catch(() => {})
        const name = `says of ${id}: ${outcome}${allowRetry ? ', may be asked again' : ''}`
        return [name, serve] as const
      })
      this.#person.hold(laboratory, 1, choices)
    }
  }
}

/** Takes the grant of the sessions back, at any moment. */
export class Revoker implements Actor {
  readonly #program = new Program('the administrator', 'people')
  #hasRevoked = false

  whims(laboratory: Laboratory): Option[] {
    if (this.#hasRevoked) return []
    const run = (): void => {
      this.#hasRevoked = true
      laboratory.steps.running = this.#program
      const { ids } = laboratory
      const { journal } = laboratory.gateways[1] as Gateway
      const store = laboratory.storeOf(this.#program)
      const deps = { store, journal, ids, random: () => new Uint8Array() }
      const asked = { profile: 'coding', connection: 'counter', tools: '*' }
      revokeGrants(deps, people[0], asked).then(
        () => laboratory.laws.revoked(),
        () => {},
      )
    }
    return [{ name: 'the administrator begins to revoke', run }]
  }
}
