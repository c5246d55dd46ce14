/** Calls, leaves, changes its mind, loses answers, and comes again in every way that there is. */
import type { CallOutcome } from '@sallyport/core'
import { Ask, type Wanted, type Way, type Wish } from './ask.ts'
import type { Gateway } from './gateway.ts'
import type { Actor, Laboratory } from './laboratory.ts'
import { sessions } from './rows.ts'
import { type Option, Program } from './steps.ts'

/** What a guest does with a call that it has asked for. */
export interface Habits {
  /** How often it may come again, all in all. Once for each call, when absent. */
  readonly again?: number
  /** How often it breaks a connection. Never, when absent. */
  readonly leaves?: number
  /** Answers may be lost, and it comes again in any way. */
  readonly isFickle?: boolean
  /** It asks for the next when it has the one before. */
  readonly inTurn?: boolean
  /** It comes for an outcome by the id of its execution, once it knows that. */
  readonly collects?: boolean
}

/** After these there is nothing to come again for. */
const conclusive: ReadonlySet<string> = new Set([
  'call_cancelled',
  'outcome_not_kept',
  'already_collected',
])

export class Guest implements Actor {
  readonly #program = new Program('the guest', 'guest')
  readonly #wanted: readonly Wanted[]
  readonly #isFickle: boolean
  readonly #inTurn: boolean
  readonly #collects: boolean
  readonly #asks: Ask[] = []
  #begun = 0
  #mayAskAgain: number
  #mayLeave: number
  #mayCancel = true
  #calls = 0

  constructor(wanted: readonly Wanted[], habits: Habits = {}) {
    this.#wanted = wanted
    this.#isFickle = habits.isFickle ?? false
    this.#inTurn = habits.inTurn ?? false
    this.#collects = habits.collects ?? false
    this.#mayAskAgain = habits.again ?? wanted.length
    this.#mayLeave = habits.leaves ?? 0
  }

  begin(laboratory: Laboratory): void {
    const next = this.#wanted.slice(this.#begun, this.#inTurn ? this.#begun + 1 : undefined)
    this.#begun += next.length
    for (const wanted of next) {
      laboratory.laws.wished(wanted)
      const { at, session = 'first' } = wanted
      const way = { at, session: sessions[session], callId: this.#newCallId() }
      this.#hold(laboratory, { wanted, isOver: false }, [way])
    }
  }

  died(laboratory: Laboratory, program: Program): void {
    for (const ask of this.#asks) {
      if (ask.gateway.program !== program || ask.isOver || ask.isGone) continue
      ask.isOver = true
      const { way } = ask
      this.#comeAgain(laboratory, ask, [{ ...way, at: way.at === 0 ? 1 : 0 }])
    }
  }

  whims(laboratory: Laboratory): Option[] {
    const open = this.#open()
    const [first] = open
    if (!first) return []
    const cancel = (): void => {
      this.#mayCancel = false
      first.wish.isOver = true
      laboratory.steps.running = first.gateway.program
      first.cancel(laboratory.timers.now())
    }
    const leave = (ask: Ask): Option => ({
      name: `the guest breaks the connection of ${ask.way.callId}`,
      run: () => this.#leave(laboratory, ask),
    })
    return [
      ...(this.#mayCancel ? [{ name: 'the guest cancels', run: cancel }] : []),
      ...(this.#mayLeave > 0 ? open.map(leave) : []),
    ]
  }

  waits(): boolean {
    return this.#open().length > 0
  }

  over({ laws }: Laboratory): void {
    for (const { way } of this.#open()) laws.leftWaiting(way.callId)
  }

  #open(): Ask[] {
    return this.#asks.filter(
      ({ gateway, outcome, isGone, isOver }) =>
        gateway.program.isAlive && !outcome && !isGone && !isOver,
    )
  }

  #newCallId(): string {
    return `call ${++this.#calls}`
  }

  /** The first way is the usual one. */
  #hold(laboratory: Laboratory, wish: Wish, ways: readonly Way[]): void {
    const { tool } = wish.wanted
    const { gateways, steps } = laboratory
    const [usual, ...others] = ways.map(
      (way): Option => ({
        name: `${way.collects ? 'collects from' : `asks for a ${tool} of`} gateway ${way.at} (${way.callId}, ${way.session.id.at(-1)})`,
        run: () => this.#ask(laboratory, wish, way),
      }),
    )
    if (!usual) return
    const at = ways[0]?.at ?? 0
    const isReady = (): boolean => gateways[at]?.isStarted === true
    const never = { name: 'never comes again', run: () => {} }
    const options = this.#isFickle && this.#asks.length > 0 ? [...others, never] : others
    steps.hold({ program: this.#program, options: [usual, ...options], isReady })
  }

  #ask(laboratory: Laboratory, wish: Wish, way: Way): void {
    const { laws, steps, timers, gateways } = laboratory
    const gateway = gateways[way.at] as Gateway
    if (!gateway.isStarted) {
      this.#hold(laboratory, wish, [way])
      return
    }
    const ask = new Ask(wish, way, gateway, timers.now())
    this.#asks.push(ask)
    laws.asked(ask)
    if (this.#looksLikeAnother(laboratory, ask)) laws.wished(wish.wanted)
    steps.running = gateway.program
    void ask.send().then((outcome) => this.#answered(laboratory, ask, outcome))
  }

  /**
   * No gateway can tell it from another wish: the one before is still open there or not yet on record, or its answer was
   * written and its reset not recorded, or where its caller is was lost in a commit that failed.
   */
  #looksLikeAnother({ laws, hasFailed }: Laboratory, { wish }: Ask): boolean {
    const before = this.#asks.filter((ask) => ask.wish === wish).slice(0, -1)
    const isCollected = wish.wasReset !== undefined && laws.isCollected(wish.wasReset)
    const isUnseen = before.some(
      (one) => one.isOpen || (one.gatewayLives && !one.outcome && !laws.isRecorded(one)),
    )
    return isCollected || hasFailed || isUnseen
  }

  #answered(laboratory: Laboratory, ask: Ask, outcome: CallOutcome): void {
    laboratory.check(() => laboratory.laws.told(ask, outcome))
    ask.outcome = outcome
    const delivery = outcome.kind === 'waiting' ? undefined : outcome.delivery
    if (ask.isGone) {
      delivery?.lost()
      return
    }
    const arrive = (): void => {
      delivery?.collected()
      this.#got(laboratory, ask, outcome)
    }
    if (!delivery || !this.#isFickle) {
      arrive()
      return
    }
    const lose = (): void => {
      delivery.lost()
      if (outcome.executionId) laboratory.laws.lost(outcome.executionId)
      ask.isOver = true
      this.#comeAgain(laboratory, ask)
    }
    const { program } = ask.gateway
    const lane = `streams of ${program.lane}`
    const reset = (): void => {
      delivery.collected()
      if (outcome.executionId) ask.wish.wasReset = outcome.executionId
      const options = [{ name: `sees the reset of ${ask.way.callId}`, run: lose }] as const
      laboratory.steps.hold({ program, lane: 'resets', options })
    }
    const options = [
      { name: `answers ${ask.way.callId}`, run: arrive },
      { name: `cannot write its answer to ${ask.way.callId}`, run: lose },
      { name: `answers ${ask.way.callId}, and its connection is reset`, run: reset },
    ] as const
    laboratory.steps.hold({ program, lane, options })
  }

  #got(laboratory: Laboratory, ask: Ask, outcome: CallOutcome): void {
    ask.isOver = true
    const { wish, way } = ask
    if (outcome.kind === 'result') {
      wish.isOver = true
      laboratory.laws.got(ask, outcome.executionId)
      this.begin(laboratory)
    }
    if (outcome.kind === 'waiting') this.#comeAgain(laboratory, ask)
    if (outcome.kind !== 'failure') return
    if (conclusive.has(outcome.code)) wish.isOver = true
    // What a person has said is an answer; whoever asks again wants it again.
    if (outcome.code.startsWith('resolved_')) laboratory.laws.wished(wish.wanted)
    this.#comeAgain(laboratory, ask, outcome.code === 'call_in_flight' ? [way] : [])
  }

  /** It does not wait for what the gateway sees of it. */
  #leave(laboratory: Laboratory, ask: Ask): void {
    this.#mayLeave--
    ask.isGone = true
    const { program } = ask.gateway
    const name = `sees that the connection of ${ask.way.callId} is broken`
    const options = [{ name, run: () => ask.leave() }] as const
    laboratory.steps.hold({ program, lane: `streams of ${program.lane}`, options })
    this.#comeAgain(laboratory, ask)
  }

  #comeAgain(laboratory: Laboratory, { wish, way, outcome }: Ask, first: Way[] = []): void {
    if (wish.isOver || this.#mayAskAgain-- <= 0) return
    const { at, session } = way
    const callId = this.#newCallId()
    const identical: Way = { at, session, callId }
    const executionId = outcome?.executionId ?? way.collects
    const { continuing } = sessions
    const collecting = executionId ? [{ ...identical, collects: executionId }] : []
    const others: Way[] = [
      { ...identical, at: at === 0 ? 1 : 0 },
      { ...way, collects: undefined },
      ...(session.chainId === continuing.chainId ? [{ ...identical, session: continuing }] : []),
    ]
    const usual = this.#collects ? [...collecting, identical] : [identical, ...collecting]
    const ways = [...first, ...usual, ...(this.#isFickle ? others : [])]
    this.#hold(laboratory, wish, this.#isFickle ? ways : ways.slice(0, 1))
  }
}
