/**
 * The `fetch` the official SDK negotiates with: our connections, our limits, and the credential added here, so that
 * the SDK knows neither the URL nor the secret.
 */
import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import type { HttpRequest } from '../http/exchange.ts'
import { type Channel, exchange } from './channel.ts'
import { plainHeaders } from './requests.ts'
import { refusalOf } from './status-code.ts'

export interface SdkFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** Why the last request did not work, in our words. */
  problem(): ErrorCode | undefined
  /** Rejects when everything was answered and nothing more is asked: the SDK waits for what no answer brought. */
  readonly unanswered: Promise<never>
  /** Nothing is waited for any more. */
  end(): void
}

const quietMs = 500
const answerBytes = 1024 * 1024

export function sdkFetch(channel: Channel, totalMs: number): SdkFetch {
  let problem: ErrorCode | undefined
  const quiet = new Quiet(channel.clock)
  return {
    problem: () => problem,
    unanswered: quiet.lasted,
    end: () => quiet.end(),
    fetch: async (_url, init = {}) => {
      // The stream a legacy client opens by itself; ours is opened when it is wanted.
      if (init.method === 'GET') return new Response(null, { status: 405 })
      try {
        const response = await send(channel, init, totalMs, quiet)
        problem = refusalOf(response.status)
        if (response.status >= 300 && response.status < 400)
          throw new SallyportError('upstream_not_mcp')
        return response
      } catch (thrown) {
        if (thrown instanceof SallyportError) problem = thrown.code
        throw thrown
      }
    },
  }
}

/** Resolves with the head of the answer; its body streams. */
function send(
  channel: Channel,
  init: RequestInit,
  totalMs: number,
  quiet: Quiet,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const target = channel.target()
    const request: HttpRequest = {
      method: 'POST',
      path: target.endpoint.path,
      headers: [...plainHeaders(target), ...sdkHeaders(init.headers)],
      body: Buffer.from(String(init.body)),
    }
    let body: ReadableStreamDefaultController<Uint8Array> | undefined
    let bytes = 0
    const sent = exchange(
      channel,
      request,
      {
        head: (status, headers) => {
          const stream = new ReadableStream<Uint8Array>({
            start: (controller) => {
              body = controller
            },
            cancel: () => sent.stop('upstream_protocol'),
          })
          const hasBody = status !== 204
          resolve(new Response(hasBody ? stream : null, { status, headers: plain(headers) }))
        },
        data: (chunk) => {
          bytes += chunk.length
          if (bytes > answerBytes) throw new SallyportError('upstream_too_large')
          body?.enqueue(chunk)
        },
      },
      totalMs,
    )
    init.signal?.addEventListener('abort', () => sent.stop('upstream_timeout'), { once: true })
    quiet.during(sent.ended)
    sent.ended.then(
      () => body?.close(),
      (error) => {
        reject(error)
        body?.error(error)
      },
    )
  })
}

/** Notices when no request is under way for a while, after there was one. */
class Quiet {
  readonly lasted: Promise<never>
  readonly #clock: Channel['clock']
  #reject: (error: SallyportError) => void = () => {}
  #underWay = 0
  #isOver = false
  #cancel = (): void => {}

  constructor(clock: Channel['clock']) {
    this.#clock = clock
    this.lasted = new Promise((_resolve, reject) => {
      this.#reject = reject
    })
    // Whoever has its answer looks no more.
    this.lasted.catch(() => {})
  }

  during(work: Promise<void>): void {
    this.#cancel()
    this.#underWay++
    const end = (): void => {
      if (--this.#underWay > 0 || this.#isOver) return
      // Twice, so that a process that stood still for a while has its turn in between.
      this.#wait(() => this.#wait(() => this.#reject(new SallyportError('upstream_not_mcp'))))
    }
    work.then(end, end)
  }

  #wait(then: () => void): void {
    this.#cancel = this.#clock.after(quietMs, then)
  }

  end(): void {
    this.#isOver = true
    this.#cancel()
  }
}

/** What the SDK adds of the protocol; the rest of the headers is ours. */
function sdkHeaders(headers: RequestInit['headers']): string[] {
  return [...new Headers(headers)]
    .filter(([name]) => name === 'content-type' || name.startsWith('mcp-'))
    .flat()
}

function plain(headers: Record<string, string | string[] | undefined>): Headers {
  const result = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) result.append(name, one)
  return result
}
