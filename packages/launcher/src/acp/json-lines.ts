/**
 * JSON-RPC in lines, with a peer inside a sandbox: whatever it says is data, one line of it is bounded, and what it breaks ends
 * the connection and nothing else.
 */
import type { Readable, Writable } from 'node:stream'
import { SallyportError } from '@sallyport/protocol'

export type Params = Readonly<Record<string, unknown>>

export interface PeerHandlers {
  /** Rejects for what is not answered; `UnknownMethod` when nobody knows it. Aborted: nobody waits for the answer any more. */
  request(method: string, params: Params, withdrawn: AbortSignal): Promise<unknown>
  /** What comes after it is read once it has resolved, also that a request is withdrawn: it may not wait for one to be answered. */
  notification(method: string, params: Params): Promise<void>
  /** A line that is no message; told once for each. */
  noise(): void
}

export class UnknownMethod extends Error {}
/** The peer said no. Its words are its own, to be shown as data only. */
export class PeerRefusal extends Error {
  readonly said: string

  constructor(method: string, said: string) {
    super(`the agent refused ${method}`)
    this.said = said
  }
}

const methodNotFound = -32_601
const internalError = -32_603
const requestCancelled = -32_800
const cancelMethod = '$/cancel_request'
/** Answers of a tool and files are in one line each. */
export const longestLine = 32 * 1024 * 1024
/** A peer that asks more at once is not waiting for a person. */
const openAtMost = 100

interface Waiting {
  readonly method: string
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** The peer asked it and waits. */
interface Open {
  readonly id: unknown
  readonly withdrawn: AbortController
}

export class JsonLines {
  /** Once the peer says nothing more. Never rejects. */
  readonly ended: Promise<void>
  readonly #output: Writable
  readonly #handlers: PeerHandlers
  readonly #waiting = new Map<number, Waiting>()
  readonly #open = new Set<Open>()
  #lastId = 0
  #isOver = false

  constructor(input: Readable, output: Writable, handlers: PeerHandlers) {
    this.#output = output
    this.#handlers = handlers
    // That it cannot be written to any more is learned by what it does not say any more.
    output.on('error', () => undefined)
    this.ended = this.#read(input)
  }

  /** Rejects with `PeerRefusal`, with `agent_broken` when the peer is gone, or with what `drop` was given. */
  request(method: string, params: Params): Promise<unknown> {
    if (this.#isOver) return Promise.reject(new SallyportError('agent_broken'))
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { method, resolve, reject })
      this.#send({ id, method, params })
    })
  }

  notify(method: string, params: Params): void {
    this.#send({ method, params })
  }

  /** Whoever is on the other side is there no more: no answer is waited for, and none is given to who comes next. */
  drop(error: Error): void {
    const asked = [...this.#open]
    this.#open.clear()
    for (const { withdrawn } of asked) withdrawn.abort()
    const dropped = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of dropped) reject(error)
  }

  /** Nothing more is said to it. */
  close(): void {
    this.#output.end()
  }

  #send(message: Params): void {
    if (this.#output.writable)
      this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  async #read(input: Readable): Promise<void> {
    try {
      for await (const line of linesOf(input)) {
        const message = parsed(line)
        if (message) await this.#take(message)
        else if (line.length > 0) this.#handlers.noise()
      }
    } catch {
      // A line without an end, or a stream that broke: either way there is no peer any more.
    }
    this.#isOver = true
    this.drop(new SallyportError('agent_broken'))
  }

  async #take(message: Params): Promise<void> {
    const { id, method, params } = message
    if (typeof method !== 'string') return this.#settle(message)
    const given = isObject(params) ? params : {}
    if (id === undefined && method === cancelMethod) return this.#withdraw(given['requestId'])
    if (id === undefined) return this.#handlers.notification(method, given)
    // A person may be asked: what else is said meanwhile is heard, as far as no notification waits.
    void this.#answer(id, method, given)
  }

  async #answer(id: unknown, method: string, params: Params): Promise<void> {
    if (this.#open.size >= openAtMost)
      return this.#send({ id, error: { code: internalError, message: 'Too much at once.' } })
    const open = { id, withdrawn: new AbortController() }
    const { signal } = open.withdrawn
    this.#open.add(open)
    const answer = await this.#handlers.request(method, params, signal).then(
      (result) => ({ result }),
      (thrown: unknown) => ({ error: errorOf(thrown) }),
    )
    if (!this.#open.delete(open)) return
    const cancelled = { error: { code: requestCancelled, message: 'Request cancelled' } }
    this.#send({ id, ...(signal.aborted ? cancelled : answer) })
  }

  #withdraw(id: unknown): void {
    for (const open of this.#open) if (open.id === id) open.withdrawn.abort()
  }

  #settle({ id, result, error }: Params): void {
    const waiting = this.#waiting.get(id as number)
    if (!waiting) return
    this.#waiting.delete(id as number)
    const said = isObject(error) && typeof error['message'] === 'string' ? error['message'] : ''
    if (error === undefined) waiting.resolve(result)
    else waiting.reject(new PeerRefusal(waiting.method, said))
  }
}

const errorOf = (thrown: unknown) =>
  thrown instanceof UnknownMethod
    ? { code: methodNotFound, message: 'Method not found' }
    : { code: internalError, message: 'Internal error' }

/** Without their ends. Throws for one that is longer than any may be. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of input as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      begun.push(chunk.subarray(from, end))
      yield Buffer.concat(begun).toString('utf8').trim()
      begun = []
      length = 0
      from = end + 1
    }
    begun.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > longestLine) throw new SallyportError('agent_broken')
  }
}

function parsed(line: string): Params | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Params {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
