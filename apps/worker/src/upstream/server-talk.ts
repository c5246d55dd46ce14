/** What a server says beside its answer to a call: requests, which are refused, progress, and what it must not say. */
import type { ProgressHead, ResultHead } from '@sallyport/protocol/node'
import type { Message } from '../http/message-reader.ts'
import { holdsForm } from '../vault/leak-forms.ts'
import type { Target } from '../vault/vault.ts'
import type { Contact } from './contact.ts'
import { refuseRequest } from './refuse-request.ts'
import type { Upstream } from './upstream.ts'

export interface ServerTalkOptions {
  readonly upstream: Upstream
  readonly contact: Contact
  readonly target: Target
  /** Of the call. */
  readonly id: number
  readonly progress: (head: Omit<ProgressHead, 'intent'>) => void
}

const mostRequests = 100
const mostProgress = 1_000
const progressText = 1_024

export class ServerTalk {
  readonly #options: ServerTalkOptions
  #requests = 0
  #violations = 0
  #progressed = 0

  constructor(options: ServerTalkOptions) {
    this.#options = options
  }

  /** For the head of the result. */
  get counts(): Pick<ResultHead, 'serverRequests' | 'violations'> {
    return {
      ...(this.#requests > 0 ? { serverRequests: this.#requests } : {}),
      ...(this.#violations > 0 ? { violations: this.#violations } : {}),
    }
  }

  hear(message: Message): void {
    const { contact, upstream } = this.#options
    if (message.method === 'notifications/progress') this.#progress(message.params)
    else if (message.method === 'notifications/tools/list_changed')
      upstream.catalog.announceChange()
    else if (message.id === undefined) return
    else if (contact.era === 'modern' || message.method === undefined) this.#violations++
    else if (this.#requests++ < mostRequests) void refuseRequest(upstream, contact, message)
  }

  /** Only ours, only what is a number that JSON can say again, and never with the credential in its words. */
  #progress(params: unknown): void {
    const { id, target, progress: tell } = this.#options
    const { progressToken, progress, total, message } = (params ?? {}) as Record<string, unknown>
    if (progressToken !== id) this.#violations++
    else if (++this.#progressed > mostProgress) return
    else if (isNumber(progress)) {
      const words = typeof message === 'string' ? message.slice(0, progressText).toWellFormed() : ''
      const isSafe = words !== '' && !holdsForm(Buffer.from(JSON.stringify(words)), target.forms)
      tell({
        progress,
        ...(isNumber(total) ? { total } : {}),
        ...(isSafe ? { message: words } : {}),
      })
    }
  }
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value)
}
