/**
 * A guest that wants a write done once and asks as the protocol tells it to: after a connection was cut, with the same
 * arguments, or the same call id, or for the result of the execution it was told; after an answer, as the answer says.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, errors } from '@sallyport/protocol'
import type { Random } from '../system/random.ts'
import { type CallAnswer, RawGuest } from '../system/raw-guest.ts'
import { monotonicMs } from './preload/step-book.ts'
import type { Ending, Write } from './write.ts'

export interface GuestDeps {
  readonly random: Random
  /** Of a gateway that may be asked now, anew for each question; it may be dead already. */
  readonly guestUrl: () => string
  /** A person finds out what became of an execution; resolves once it is not unknown any more. */
  readonly findOut: (executionId: string) => Promise<void>
}

type How = 'arguments' | 'call id' | 'result'

const again = { cutOff: 30, refused: 40, waiting: 100 }
const asksAtMost = 2_000

/** What was proved not to have been sent, or is over: it may be asked anew. */
const anew: ReadonlySet<string> = new Set<ErrorCode>([
  'approval_expired',
  'approval_settled',
  'not_sent',
  'expired',
  'intent_refused',
  'call_cancelled',
  'upstream_unreachable',
  'answered_by_earlier',
])
const endings: Readonly<Record<string, Ending>> = {
  resolved_applied: 'applied',
  resolved_not_applied: 'not_applied',
  resolved_abandoned: 'abandoned',
  approval_denied: 'denied',
  already_collected: 'gone',
} satisfies Partial<Record<ErrorCode, Ending>>

export class Guest {
  readonly #deps: GuestDeps
  readonly #write: Write
  #callId: string
  #calls = 0
  #execution: string | undefined

  constructor(write: Write, deps: GuestDeps) {
    this.#deps = deps
    this.#write = write
    this.#callId = `${write.id} ${++this.#calls}`
  }

  /** Resolves when it has an answer that ends it, or `isOver` says that nobody waits for one. */
  async run(isOver: () => boolean): Promise<void> {
    const write = this.#write
    let how: How = this.#deps.random.pick(['arguments', 'call id'])
    for (let asks = 0; asks < asksAtMost && !isOver(); asks++) {
      const answer = await this.#ask(how)
      if (answer === 'cut off') {
        how = this.#next()
        await sleep(again.cutOff)
        continue
      }
      write.ending = await this.#take(answer)
      if (write.ending !== 'open') return
      // An answer to a call id stands; whoever wants more has another call.
      this.#callId = `${write.id} ${++this.#calls}`
      how = this.#next()
    }
  }

  #next(): How {
    const ways: How[] = ['arguments', 'arguments', 'call id']
    return this.#deps.random.pick(this.#execution === undefined ? ways : [...ways, 'result'])
  }

  async #ask(how: How): Promise<CallAnswer | 'cut off'> {
    const { asked, met } = this.#write
    const guestUrl = this.#deps.guestUrl()
    const question = { guestUrl, from: monotonicMs(), to: Number.POSITIVE_INFINITY }
    asked.push(question)
    try {
      const answer = await this.#send(how, guestUrl)
      const { code, executionId } = answer.failure ?? {}
      const what = code ?? answer.text.slice(0, 60)
      met.push({
        how,
        what: `${monotonicMs()} ${what}`,
        executionId: executionId ?? executionIn(answer.text),
      })
      return answer
    } catch (thrown) {
      const { message, cause } = thrown as Error
      // Any answer that is no result of a call is worth a look.
      const what = thrown instanceof TypeError ? 'cut off' : message
      met.push({
        how,
        what: `${monotonicMs()} ${what} ${(cause as { code?: string } | undefined)?.code ?? ''}`,
      })
      return 'cut off'
    } finally {
      question.to = monotonicMs()
    }
  }

  #send(how: How, guestUrl: string): Promise<CallAnswer> {
    const { session, era, id, ms } = this.#write
    const guest = (connection: string) => {
      const endpoint = `${guestUrl}/mcp/${connection}`
      return new RawGuest({ endpoint, token: session.token, era })
    }
    if (how === 'result')
      return guest('sallyport').call(
        'wait_for_result',
        JSON.stringify({ executionId: this.#execution }),
      )
    const callId = how === 'call id' ? this.#callId : undefined
    return guest('counted').call('store', JSON.stringify({ id, ms }), callId)
  }

  async #take(answer: CallAnswer): Promise<Ending> {
    const { failure, text } = answer
    const about = failure?.executionId ?? executionIn(text)
    if (!failure) {
      if (!text.startsWith('waiting: ')) return 'done'
      this.#execution = about
      await sleep(again.waiting)
      return 'open'
    }
    const { code } = failure
    const ending = endings[code]
    if (ending === 'not_applied' && this.#deps.random.below(2) === 0) return 'open'
    if (ending) return ending
    this.#execution = undefined
    if (code === 'outcome_unknown' || code === 'tool_outcome_unknown') {
      await this.#deps.findOut(String(about))
      return 'open'
    }
    const isFine = anew.has(code) || errors[code as ErrorCode]?.retry === true
    if (!isFine) throw new Error(`the guest of the write ${this.#write.id} was told ${code}`)
    await sleep(again.refused)
    return 'open'
  }
}

function executionIn(text: string): string | undefined {
  return /^Execution: (exe_\w+)$/m.exec(text)?.[1]
}
