/** A run of an agent that is spoken to by ACP: everything it is asked, one after another, and then it ends. */
import {
  AcpConversation,
  type AcpPermissions,
  type AcpStart,
  type Guest,
} from '@sallyport/launcher'
import type { Run } from '../run.ts'
import { AcpOwner } from './acp-owner.ts'
import { prompts } from './prompts.ts'

export interface TalkAsked {
  readonly start: AcpStart
  readonly session: string
  readonly policy: AcpPermissions
  /** Empty: they come from stdin. */
  readonly words: readonly string[]
  /** Called when the agent does not end by itself. */
  readonly giveUp: () => void
}

export interface TalkEnd {
  /** ACP's reason for which the last turn ended; undefined when nothing was asked. */
  readonly stopReason?: string
  readonly error?: unknown
}

/** An agent that was told that there is nothing more takes this long at most. */
const endsWithinMs = 5_000

export class AcpTalk {
  /** Never rejects. */
  readonly ended: Promise<TalkEnd>
  readonly #enough = new AbortController()
  readonly #conversation: AcpConversation
  readonly #owner: AcpOwner
  #isBusy = false

  constructor(run: Run, guest: Guest, { start, session, policy, words, giveUp }: TalkAsked) {
    const { stdin, stdout } = guest
    if (!stdin || !stdout) throw new TypeError('an agent that cannot be spoken to')
    const interrupted = (): void => this.signal('SIGINT')
    const owner = new AcpOwner({ run, session, policy, over: this.#enough.signal, interrupted })
    this.#owner = owner
    this.#conversation = new AcpConversation({ stdin, stdout }, start, owner)
    void guest.ended.then(() => this.#enough.abort())
    this.ended = this.#talk(prompts(words, run.world, this.#enough.signal))
      .catch((error: unknown): TalkEnd => ({ error }))
      .then(async (end) => {
        await owner.quiet()
        owner.endLine()
        void this.#letGo(run, guest, giveUp)
        return end
      })
  }

  /** An interrupt ends the turn; when there is none, or it was interrupted before, everything. */
  signal(name: NodeJS.Signals): void {
    if (name !== 'SIGINT') return
    if (this.#isBusy) this.#conversation.cancel()
    else this.#end()
    this.#isBusy = false
  }

  #end(): void {
    this.#enough.abort()
    this.#conversation.close()
  }

  async #talk(asked: AsyncIterable<string>): Promise<TalkEnd> {
    let end: TalkEnd = {}
    for await (const prompt of asked) {
      this.#isBusy = true
      end = { stopReason: await this.#conversation.prompt(prompt) }
      this.#isBusy = false
      // What was held back while a question stood comes before the next prompt.
      await this.#owner.quiet()
      if (this.#enough.signal.aborted) break
    }
    return end
  }

  async #letGo({ world }: Run, guest: Guest, giveUp: () => void): Promise<void> {
    this.#conversation.close()
    const gone = new AbortController()
    void guest.ended.then(() => gone.abort())
    for (const next of [() => guest.signal('SIGTERM'), giveUp]) {
      await world.delay(endsWithinMs, gone.signal)
      if (gone.signal.aborted) return
      next()
    }
  }
}
