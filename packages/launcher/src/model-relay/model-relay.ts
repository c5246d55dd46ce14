/**
 * Between a guest and its model: holds the key that the guest does not have, and leads to one host and path prefix. Nothing is
 * intercepted: the guest speaks plain HTTP to its own loopback, and knows that it does.
 */
import {
  type Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { pipeline } from 'node:stream/promises'
import { SallyportError } from '@sallyport/protocol'
import type { Admits } from '../outlets/admit-guest.ts'
import { Counted } from '../outlets/counted.ts'
import type { Denials } from '../outlets/denials.ts'
import { closeListener, listenFor } from '../outlets/listen.ts'
import type { Resolve } from '../outlets/reach.ts'
import { sendRefusal } from '../outlets/refusal.ts'
import { modelAgent } from './model-agent.ts'
import type { ModelUpstream } from './model-upstream.ts'
import { relayedAnswer } from './relayed-answer.ts'
import { relayedRequest } from './relayed-request.ts'

export interface ModelRelayOptions {
  readonly socketPath: string
  readonly upstream: ModelUpstream
  /** None only for a model of this machine that wants none. */
  readonly key: string | undefined
  readonly denials: Denials
  readonly resolve: Resolve
  readonly admits: Admits
  readonly limits?: Partial<RelayLimits>
}

export interface RelayLimits {
  readonly exchanges: number
  readonly requestBytes: number
  readonly answerBytes: number
  /** Without a byte in either direction: a model may think long before its first. */
  readonly idleMs: number
  /** One exchange, from its first byte to its last. */
  readonly totalMs: number
}

const defaultLimits: RelayLimits = {
  exchanges: 64,
  requestBytes: 64 * 1024 * 1024,
  answerBytes: 256 * 1024 * 1024,
  idleMs: 900_000,
  totalMs: 3_600_000,
}

export class ModelRelay {
  readonly #options: ModelRelayOptions
  readonly #limits: RelayLimits
  readonly #server: Server
  readonly #agent: Agent
  #exchanges = 0

  /** Rejects when there can be no such socket. */
  static async open(options: ModelRelayOptions): Promise<ModelRelay> {
    const relay = new ModelRelay(options)
    await listenFor(relay.#server, options)
    return relay
  }

  private constructor(options: ModelRelayOptions) {
    this.#options = options
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#agent = modelAgent(options)
    this.#server = createServer({ requestTimeout: this.#limits.totalMs }, (ask, answer) => {
      void this.#serve(ask, answer)
    })
  }

  isDenied(): boolean {
    return this.#options.denials.deniesByName(this.#options.upstream)
  }

  /** Connections that are kept lead to where nobody may go any more. */
  endDenied(): void {
    if (this.isDenied()) this.#agent.destroy()
  }

  async close(): Promise<void> {
    await closeListener(this.#server)
    this.#agent.destroy()
  }

  async #serve(ask: IncomingMessage, answer: ServerResponse): Promise<void> {
    const gone = new AbortController()
    // Of both: it left, or it has its answer.
    answer.once('close', () => gone.abort())
    const late = setTimeout(() => gone.abort(), this.#limits.totalMs)
    this.#exchanges++
    try {
      if (this.#exchanges > this.#limits.exchanges) throw new SallyportError('too_many')
      await this.#exchange(ask, answer, gone.signal)
    } catch (thrown) {
      if (answer.headersSent) answer.destroy()
      else if (!answer.destroyed) sendRefusal(answer, refusalFor(thrown))
    } finally {
      clearTimeout(late)
      this.#exchanges--
    }
  }

  async #exchange(ask: IncomingMessage, answer: ServerResponse, gone: AbortSignal): Promise<void> {
    const { upstream, key } = this.#options
    const { requestBytes, answerBytes, idleMs } = this.#limits
    const relayed = relayedRequest(ask, upstream, key)
    if (Number(ask.headers['content-length'] ?? 0) > requestBytes)
      throw new SallyportError('too_large')
    const out = request({ ...relayed, agent: this.#agent, signal: gone, timeout: idleMs })
    out.on('timeout', () => out.destroy(new SallyportError('model_unreachable')))
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      out.once('response', resolve)
      out.on('error', reject)
    })
    // Not a pipeline: that would take down the connection by which the guest is told why.
    const counted = new Counted(requestBytes).on('error', (thrown) => out.destroy(thrown))
    ask.pipe(counted).pipe(out)
    const got = await answered
    const { status, headers } = relayedAnswer(got, relayed.path, upstream)
    answer.writeHead(status, headers)
    answer.flushHeaders()
    await pipeline(got, new Counted(answerBytes), answer)
  }
}

function refusalFor(thrown: unknown): SallyportError {
  if (!(thrown instanceof SallyportError))
    return new SallyportError('model_unreachable', { cause: thrown })
  return thrown.code === 'host_unreachable'
    ? new SallyportError('model_unreachable', { cause: thrown })
    : thrown
}
