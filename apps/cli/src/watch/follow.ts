/** What changes about approvals, as it happens: asked for again and again, since whoever decides may be anywhere. */
import { approval } from '@sallyport/protocol'
import { type Failure, toFailure } from '../failure.ts'
import { type Approval, isOpen } from '../print/approval.ts'
import type { Run } from '../run.ts'

export type News =
  | {
      readonly kind: 'seen'
      /** New ones, and those that are not what they were; oldest first. */
      readonly approvals: readonly Approval[]
      /** Ids of those that are not there any more. */
      readonly gone: readonly string[]
    }
  | { readonly kind: 'unreachable'; readonly failure: Failure; readonly againInMs: number }

const everyMs = 1000
const longestPauseMs = 30_000
const answerWithinMs = 10_000
/** The most that the API lists. */
const limit = '1000'

/** Tells what there is, then only what changes, until `until` aborts. Throws `Failure` when the first question fails. */
export async function* followApprovals(
  { call, world }: Pick<Run, 'call' | 'world'>,
  until: AbortSignal,
): AsyncGenerator<News> {
  const followed = new Followed(call, until)
  let pause = everyMs
  for (let isFirst = true; !until.aborted; isFirst = false) {
    try {
      const news = await followed.look()
      if (isFirst || pause > everyMs || news.approvals.length > 0 || news.gone.length > 0)
        yield news
      pause = everyMs
    } catch (thrown) {
      if (until.aborted) return
      if (isFirst) throw thrown
      pause = Math.min(pause * 2, longestPauseMs)
      yield { kind: 'unreachable', failure: toFailure(thrown), againInMs: pause }
    }
    await world.delay(pause, until)
  }
}

class Followed {
  readonly #call: Run['call']
  readonly #limits: { readonly within: number; readonly until: AbortSignal }
  /** Those that may still change, as they were seen last. */
  #known = new Map<string, Approval>()

  constructor(call: Run['call'], until: AbortSignal) {
    this.#call = call
    this.#limits = { within: answerWithinMs, until }
  }

  /** Nothing is known newly when it throws: what changed meanwhile is told the next time. */
  async look(): Promise<Extract<News, { kind: 'seen' }>> {
    const query = { state: 'pending', limit }
    const { items } = await this.#call('approval.list', { query }, this.#limits)
    // Parsed, so that two of them can be compared.
    const seen = new Map(items.map((one) => [one.id, approval.parse(one)]))
    const gone: string[] = []
    for (const id of this.#known.keys()) {
      if (seen.has(id)) continue
      const became = await this.#show(id)
      if (became) seen.set(id, became)
      else gone.push(id)
    }
    const approvals = [...seen.values()].filter((one) => !isSame(one, this.#known.get(one.id)))
    this.#known = new Map([...seen].filter(([, one]) => isOpen(one)))
    return { kind: 'seen', approvals: approvals.sort((a, b) => (a.id < b.id ? -1 : 1)), gone }
  }

  async #show(id: string): Promise<Approval | undefined> {
    try {
      return approval.parse(await this.#call('approval.show', { params: { id } }, this.#limits))
    } catch (thrown) {
      if (toFailure(thrown).code === 'not_found') return undefined
      throw thrown
    }
  }
}

function isSame(one: Approval, other: Approval | undefined): boolean {
  return other !== undefined && JSON.stringify(one) === JSON.stringify(other)
}
