/** One run of a laboratory: at each moment a number picks what goes on next, so that the numbers bring the run back. */
import { allIsStill } from './held-timers.ts'
import type { Laboratory } from './laboratory.ts'
import { type Held, laneOf, type Option } from './steps.ts'

/** Picks below `count`. 0 is what usually goes on; everything else is a deviation. */
export type Pick = (count: number, moment: number) => number

export interface Run {
  /** What went on, a line a moment. */
  readonly lines: readonly string[]
  readonly picked: readonly number[]
  /** How many choices there were at each moment. */
  readonly counts: readonly number[]
  readonly failure: unknown
}

const first = ['guest', 'gateway 0', 'gateway 1', 'worker']
const last = ['resets', 'people', 'database', 'chores of gateway 0', 'chores of gateway 1']
const mostMoments = 1_000

export async function play(laboratory: Laboratory, pick: Pick): Promise<Run> {
  const lanes = new Lanes(laboratory.slowLane)
  const lines: string[] = []
  const picked: number[] = []
  const counts: number[] = []
  laboratory.timers.replace()
  try {
    while (laboratory.failure === undefined && lines.length < mostMoments) {
      const options = optionsOf(laboratory, lanes)
      if (options.length === 0) break
      const number = pick(options.length, counts.length)
      const option = options[number] as Option
      counts.push(options.length)
      picked.push(number)
      lines.push(option.name)
      option.run()
      await allIsStill()
    }
  } finally {
    laboratory.timers.restore()
  }
  return {
    lines,
    picked,
    counts,
    failure: laboratory.failure ?? (await failureAtTheEnd(laboratory)),
  }
}

async function failureAtTheEnd(laboratory: Laboratory): Promise<unknown> {
  try {
    await laboratory.over()
    return undefined
  } catch (thrown) {
    return thrown
  }
}

function optionsOf(laboratory: Laboratory, lanes: Lanes): Option[] {
  const { steps } = laboratory
  const ready = lanes.sort(steps.ready())
  const [next] = ready
  if (!next) return []
  const isIdle = ready.every((held) => lanes.isIdle(laneOf(held)))
  if (isIdle && !laboratory.isOpen) return []
  const lane = laneOf(next)
  const take = (held: Held, option: Option): Option => ({
    name: `${held.program.name} ${option.name}`,
    run: () => {
      if (laneOf(held) === 'time') lanes.timePasses()
      steps.take(held, option)
    },
  })
  const inLane = ready.filter((held) => laneOf(held) === lane)
  const [, ...others] = inLane
  const [usual, ...unusual] = next.options
  const isAlone = ready.length === inLane.length
  return [
    take(next, usual),
    ...(isAlone ? [] : waits(lanes, next)),
    ...unusual.map((option) => take(next, option)),
    ...others.map((held) => take(held, held.options[0])),
    ...laboratory.faults(),
  ]
}

/** A lane that waits a moment, a lane that waits long, and a process that stands still and wakes after its lease. */
function waits(lanes: Lanes, next: Held): Option[] {
  const lane = laneOf(next)
  const { name } = next.program
  return [
    { name: `(${lane} waits)`, run: () => lanes.wait(lane, 1) },
    { name: `(${lane} waits long)`, run: () => lanes.wait(lane, 8) },
    { name: `(${name} stands still)`, run: () => lanes.wait(name, 4) },
  ]
}

/** Who goes on before whom. What waits comes after everything else until time has passed so often. */
class Lanes {
  #order: string[]
  /** Lanes and programs. */
  readonly #waiting = new Map<string, number>()

  constructor(slow: string | undefined) {
    const others = [...first, ...last].filter((lane) => lane !== slow)
    this.#order = slow ? [...others, slow] : others
  }

  isIdle(lane: string): boolean {
    return lane === 'time' || lane.startsWith('chores')
  }

  wait(name: string, times: number): void {
    if (this.#order.includes(name))
      this.#order = [...this.#order.filter((other) => other !== name), name]
    this.#waiting.set(name, times)
  }

  timePasses(): void {
    for (const [name, times] of this.#waiting) {
      if (times > 1) this.#waiting.set(name, times - 1)
      else this.#waiting.delete(name)
    }
  }

  sort(held: readonly Held[]): Held[] {
    for (const one of held) {
      const lane = laneOf(one)
      if (!this.#order.includes(lane)) this.#order.unshift(lane)
    }
    return held
      .map((one) => ({ one, place: this.#place(one) }))
      .sort((a, b) => a.place - b.place)
      .map(({ one }) => one)
  }

  #place(held: Held): number {
    const lane = laneOf(held)
    const count = this.#order.length
    if (lane === 'time') return count
    const isWaiting = this.#waiting.has(lane) || this.#waiting.has(held.program.name)
    return this.#order.indexOf(lane) + (isWaiting ? count + 1 : 0)
  }
}
