/** One HTTP request, written at most once, and its answer as it streams in. */
import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import { failureCode } from '../dialer/failure-code.ts'

export type ResponseHeaders = Parameters<
  NonNullable<Dispatcher.DispatchHandler['onResponseStart']>
>[2]

export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly path: string
  /** Name, value, name, value. */
  readonly headers: string[]
  readonly body?: Uint8Array
}

/** Hears the answer. What it throws ends the exchange and becomes its failure. */
export interface Listener {
  /** The last act before the first byte. What it throws keeps the request from leaving. */
  before?(): void
  head(status: number, headers: ResponseHeaders): void
  data(chunk: Buffer): void
}

export interface ExchangeOptions {
  readonly request: HttpRequest
  readonly listener: Listener
  readonly clock: Clock
  /** From the first byte of the request to the last of the answer; left out: as long as it lasts. */
  readonly totalMs?: number
  /** From the first byte of the request to the head of the answer; left out: as long as all of it may take. */
  readonly headMs?: number
  /** Between two parts of the body; left out: as long as all of it may take. */
  readonly idleMs?: number
  /** The body does not matter: an answer is taken however it is encoded. */
  readonly anyEncoding?: boolean
  /** Called when the total is over, instead of ending it with `upstream_timeout`. */
  readonly overdue?: () => void
}

/** What undici's connections take; ours hand one out. */
export interface Connection {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean
}

/** Beside the limit of their bytes, which is one of the connection. */
const mostHeaders = 256

export class Exchange implements Dispatcher.DispatchHandler {
  /** Resolves when the answer is complete. Rejects with SallyportError. */
  readonly ended: Promise<void>
  readonly #options: ExchangeOptions
  #resolve: () => void = () => {}
  #reject: (error: SallyportError) => void = () => {}
  #controller: Dispatcher.DispatchController | undefined
  #stopped: SallyportError | undefined
  #done: () => void = () => {}
  #cancelTimer: () => void = () => {}
  #cancelWait: () => void = () => {}
  #heardAt = 0

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** `done` is called when the connection can serve another request. */
  start(connection: Connection, done: () => void): void {
    this.#done = done
    if (this.#stopped) {
      this.#finish(this.#stopped)
      return
    }
    const { method, path, headers, body } = this.#options.request
    connection.dispatch({ method, path, headers, body: body ?? null }, this)
  }

  /** Ends it: before the first byte nothing is sent; after it, the connection is closed. */
  stop(code: ErrorCode): void {
    if (this.#stopped) return
    this.#stopped = new SallyportError(code)
    this.#controller?.abort(this.#stopped)
    this.#reject(this.#stopped)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The library may offer a request again after it lost its connection; one that left is not sent twice.
    if (this.#controller) throw new SallyportError('upstream_unreachable')
    if (this.#stopped) throw this.#stopped
    this.#options.listener.before?.()
    this.#controller = controller
    const { clock, totalMs, headMs, overdue = () => this.stop('upstream_timeout') } = this.#options
    if (totalMs !== undefined) this.#cancelTimer = clock.after(totalMs, overdue)
    if (headMs !== undefined)
      this.#cancelWait = clock.after(headMs, () => this.stop('upstream_timeout'))
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
  ): void {
    if (status < 200) return
    const { rawHeaders } = controller
    if (Array.isArray(rawHeaders) && rawHeaders.length > 2 * mostHeaders)
      throw new SallyportError('upstream_too_large')
    this.#cancelWait()
    this.#listen()
    const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
    const isPlain = encoding === 'identity' || this.#options.anyEncoding === true
    // We ask for none; an answer that unpacks to any size has no limit that could be counted here.
    if (status < 300 && !isPlain) throw new SallyportError('upstream_protocol')
    this.#options.listener.head(status, headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#options.idleMs !== undefined) this.#heardAt = this.#options.clock.monotonic()
    this.#options.listener.data(chunk)
  }

  onResponseEnd(): void {
    this.#finish()
  }

  onResponseError(_controller: Dispatcher.DispatchController, thrown: Error): void {
    const code = failureCode(thrown)
    this.#finish(
      thrown instanceof SallyportError ? thrown : new SallyportError(code, { cause: thrown }),
    )
  }

  #listen(): void {
    const { clock, idleMs } = this.#options
    if (idleMs === undefined) return
    this.#heardAt = clock.monotonic()
    this.#expectMore(idleMs, idleMs)
  }

  /** One timer that looks back, not one for each part: a stream may have very many. */
  #expectMore(idleMs: number, inMs: number): void {
    const { clock } = this.#options
    this.#cancelWait = clock.after(inMs, () => {
      const left = this.#heardAt + idleMs - clock.monotonic()
      if (left > 0) this.#expectMore(idleMs, left)
      else this.stop('upstream_timeout')
    })
  }

  #finish(error?: SallyportError): void {
    this.#cancelTimer()
    this.#cancelWait()
    const done = this.#done
    this.#done = () => {}
    // Not at once: the library is still in the middle of this request and must not be given the next one.
    queueMicrotask(done)
    if (error) this.#reject(error)
    else this.#resolve()
  }
}
