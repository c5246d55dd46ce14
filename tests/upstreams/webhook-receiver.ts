/** Receives webhooks as a library of Standard Webhooks would have them verified, and answers as a test wants. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export interface ReceivedWebhook {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Why it was not believed. */
  readonly problem: WebhookProblem | undefined
}

export type WebhookProblem = 'headers' | 'timestamp' | 'signature'

const toleranceSeconds = 300

/** `secret` as it was shown, `now` in ms since 1970. Undefined when it may be believed. */
export function webhookProblem(
  secret: string,
  headers: IncomingHttpHeaders,
  body: string,
  now: number,
): WebhookProblem | undefined {
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string')
    return 'headers'
  const isInTime = Math.abs(now / 1_000 - Number(timestamp)) <= toleranceSeconds
  if (!/^\d+$/.test(timestamp) || !isInTime) return 'timestamp'
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  const isSigned = signatures.split(' ').some((one) => {
    const [version, value = ''] = one.split(',')
    const found = Buffer.from(value, 'base64')
    return version === 'v1' && found.length === expected.length && timingSafeEqual(found, expected)
  })
  return isSigned ? undefined : 'signature'
}

type Answer = (response: ServerResponse) => void

export interface ReceiverOptions {
  readonly secret: string
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Path and query. */
  readonly path?: string
}

export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = []
  /** 204 when left alone. */
  answer: Answer = (response) => response.writeHead(204).end()
  readonly #options: ReceiverOptions
  readonly #server: ReturnType<typeof createServer>

  constructor(options: ReceiverOptions) {
    this.#options = options
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      this.#receive(request, response).catch(() => response.destroy())
    }
    this.#server = options.tls ? createTlsServer(options.tls, handle) : createServer(handle)
  }

  static async start(options: ReceiverOptions): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(options)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    const { tls, path = '/hook?room=7' } = this.#options
    return `${tls ? 'https' : 'http'}://127.0.0.1:${this.port}${path}`
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const { method = '', url = '', headers } = request
    const problem = webhookProblem(this.#options.secret, headers, body, Date.now())
    this.received.push({ method, url, headers, body, problem })
    this.answer(response)
  }
}
