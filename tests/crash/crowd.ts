/** Guests that want writes done, as many at once as are wanted, at the gateway where each is at home while that lives. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, randomFrom } from '../system/random.ts'
import type { Era } from '../system/raw-guest.ts'
import type { CrashWorld } from './crash-world.ts'
import { Guest } from './guest.ts'
import type { People } from './people.ts'
import { monotonicMs } from './preload/step-book.ts'
import { Write } from './write.ts'

export interface CrowdOptions {
  readonly world: CrashWorld
  readonly people: People
  readonly random: Random
  /** Young writes at any moment; older ones, that wait for a lease to lapse, come on top. */
  readonly width: number
}

interface Begun {
  readonly since: number
  readonly end: Promise<void>
}

const slowestMs = 120
const feedEveryMs = 10
const youngMs = 3_000
const openAtMost = 48

export class Crowd {
  readonly writes: Write[] = []
  readonly problems: string[] = []
  readonly #options: CrowdOptions
  readonly #open = new Map<Write, Begun>()
  readonly #feeding: Promise<void>
  #isEnding = false
  #isGivenUp = false

  constructor(options: CrowdOptions) {
    this.#options = options
    this.#feeding = this.#feed()
  }

  /** No new writes; resolves when those that are open have ended, or after `ms`. */
  async end(ms: number): Promise<void> {
    this.#isEnding = true
    const timer = setTimeout(() => {
      this.#isGivenUp = true
    }, ms)
    await this.#feeding
    await Promise.all([...this.#open.values()].map(({ end }) => end))
    clearTimeout(timer)
  }

  /** Writes of which a question was open there at that time. */
  inFlight(at: number, guestUrl: string): number {
    return this.writes.filter((write) => write.wasInFlight(at, guestUrl)).length
  }

  async #feed(): Promise<void> {
    for (; !this.#isEnding; await sleep(feedEveryMs)) {
      const young = [...this.#open.values()].filter(({ since }) => monotonicMs() - since < youngMs)
      const room = Math.min(this.#options.width - young.length, openAtMost - this.#open.size)
      for (let nth = 0; nth < room; nth++) this.#begin()
    }
  }

  #begin(): void {
    const { world, people } = this.#options
    const random = randomFrom(this.#options.random.below(2 ** 31))
    const home = random.below(world.sessions.length)
    const { asking, brief, unattended } = world.sessions[home] as (typeof world.sessions)[number]
    const write = new Write({
      id: `${random.seed}`,
      session: random.pick([...asking, ...asking, ...brief, ...unattended, ...unattended]),
      era: random.pick<Era>(['legacy', 'modern']),
      ms: random.below(slowestMs),
    })
    this.writes.push(write)
    const guest = new Guest(write, {
      random,
      guestUrl: () => world.hostFor(home).sallyport.guestUrl,
      findOut: (id) => people.findOut(id),
    })
    const end = guest
      .run(() => this.#isGivenUp)
      .catch((thrown) => {
        this.problems.push(String(thrown))
      })
      .finally(() => this.#open.delete(write))
    this.#open.set(write, { since: monotonicMs(), end })
  }
}
