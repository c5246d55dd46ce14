/** Requests that came as records, from the asking to the word of what became of the answer; whatever carries them. */
import { type ErrorCode, errors } from '@sallyport/protocol'
import {
  type AnswerRecord,
  type FewHeaders,
  type RequestRecord,
  recordVersion,
} from '@sallyport/protocol/shim'
import { readMessage } from '../mcp/envelope.ts'
import type { InnerDoor } from './inner-door.ts'
import { judgeRecord } from './judge-record.ts'

export interface DeskOptions {
  readonly door: InnerDoor
  readonly now: () => number
  /** Bytes of a message. */
  readonly limit: () => number
  /** Part of an answer, or its last. No more comes until it was carried. */
  readonly carry: (id: string, answer: AnswerRecord, isLast: boolean) => Promise<void> | void
}

interface Running {
  readonly shim: string
  readonly call: string
  /** JSON text of its JSON-RPC id, if it has one. */
  readonly rpcId: string | undefined
  readonly stop: () => void
}

interface Answered {
  readonly shim: string
  readonly call: string
}

export class RecordDesk {
  readonly #options: DeskOptions
  readonly #running = new Map<string, Running>()
  /** Answers that nobody has taken yet, oldest first. */
  readonly #answered = new Map<string, Answered>()

  constructor(options: DeskOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running.size
  }

  /** Answers that wait to be taken. */
  get answered(): ReadonlyMap<string, Answered> {
    return this.#answered
  }

  /** Asks what the record asks, or answers what is wrong with it. */
  take(id: string, value: unknown): void {
    const { now, limit } = this.#options
    const judged = judgeRecord(value, now(), limit())
    if (judged.ok) this.#ask(id, judged.record)
    else this.refuse(id, judged.code)
  }

  #ask(id: string, record: RequestRecord): void {
    const { door } = this.#options
    const { shim, call, message, method } = record
    let head: { status: number; headers: FewHeaders } = { status: 0, headers: {} }
    let last: string | undefined
    const part = (messages: string[], isLast = false, isWhole = true): Promise<void> | void => {
      const broken = isWhole ? {} : { broken: true as const }
      return this.#options.carry(id, { v: recordVersion, ...head, messages, ...broken }, isLast)
    }
    const stop = door.ask(record, {
      head: (status, headers) => {
        head = { status, headers }
        if (method === 'GET' && status === 200) void part([])
      },
      // The response waits for the end, so that most answers are one record.
      message: (text) => {
        if (!this.#running.has(id)) return
        if (text.startsWith(notificationHead)) return part([text])
        last = text
      },
      end: (isWhole) => {
        // Cancelled meanwhile: nobody waits for it.
        if (!this.#running.delete(id)) return void door.settle(shim, call, 'lost')
        this.#answered.set(id, { shim, call })
        void part(last === undefined ? [] : [last], true, isWhole)
      },
    })
    const read = message === '' ? undefined : readMessage(Buffer.from(message))
    this.#running.set(id, { shim, call, rpcId: read?.id, stop })
  }

  refuse(id: string, code: ErrorCode): void {
    const { http: status, rpc, text } = errors[code]
    const error = JSON.stringify({ code: rpc, message: text })
    const messages = [`{"jsonrpc":"2.0","id":null,"error":${error}}`]
    void this.#options.carry(id, { v: recordVersion, status, headers: {}, messages }, true)
  }

  /** Whoever asked waits no more; or nobody took the answer. Resolves when that was heard. */
  async cancel(id: string): Promise<void> {
    const running = this.#running.get(id)
    this.#running.delete(id)
    if (running) {
      const { shim, call, rpcId, stop } = running
      // Closed only behind it: a call whose caller has left cannot be cancelled by name.
      if (rpcId !== undefined) await this.#options.door.cancel(shim, call, rpcId)
      stop()
    }
    await this.#settle(id, 'lost')
  }

  taken(id: string): void {
    void this.#settle(id, 'delivered')
  }

  /** Everybody who asked here has gone. Resolves when that was heard: whoever asks the same then finds it so. */
  async leave(): Promise<void> {
    for (const { stop } of this.#running.values()) stop()
    this.#running.clear()
    await Promise.all([...this.#answered.keys()].map((id) => this.#settle(id, 'lost')))
  }

  async #settle(id: string, fate: 'delivered' | 'lost'): Promise<void> {
    const answered = this.#answered.get(id)
    this.#answered.delete(id)
    if (answered) await this.#options.door.settle(answered.shim, answered.call, fate)
  }
}

/** As we write them ourselves. */
const notificationHead = '{"jsonrpc":"2.0","method":'
