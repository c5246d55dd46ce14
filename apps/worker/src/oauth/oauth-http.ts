/**
 * Every request of one act of OAuth: over the pinned dialer, never redirected, small, and within the time of the act.
 * Places are read from documents of others, so plain http toward this machine passes only where the MCP server itself is
 * reached like that.
 */
import {
  type Endpoint,
  type ErrorCode,
  SallyportError,
  toSallyportError,
} from '@sallyport/protocol'
import { oauthMs } from '@sallyport/protocol/node'
import type { Dialer } from '../dialer/dialer.ts'
import { type DocumentAnswer, type DocumentRequest, requestDocument } from '../dialer/document.ts'
import { type Document, parseDocument } from './read-document.ts'

export type OAuthDialer = Pick<Dialer, 'connect' | 'clock' | 'localAllowed'>

export interface OAuthHttpOptions {
  readonly dialer: OAuthDialer
  readonly endpoint: Pick<Endpoint, 'scheme'>
  /** The connection all this is for, as the dialer knows it. */
  readonly subject: string
  /** The last word before the first byte; a code keeps it from leaving. */
  readonly pass: () => ErrorCode | undefined
  /** Instead of the time of an act. */
  readonly withinMs?: number
}

const requestMs = 10_000
const documentBytes = 65_536

export class OAuthHttp {
  readonly localAllowed: boolean
  readonly #options: OAuthHttpOptions
  readonly #endsAt: number
  #isSent = false

  constructor(options: OAuthHttpOptions) {
    const { dialer, endpoint } = options
    this.#options = options
    this.localAllowed = dialer.localAllowed && endpoint.scheme === 'http'
    this.#endsAt = dialer.clock.monotonic() + (options.withinMs ?? oauthMs)
  }

  /** A first byte has left. */
  get isSent(): boolean {
    return this.#isSent
  }

  /** For documents that the act does not depend on: within less time, and nothing of it counts as sent. */
  aside(withinMs: number): OAuthHttp {
    const left = this.#endsAt - this.#options.dialer.clock.monotonic()
    const pass = () => undefined
    return new OAuthHttp({ ...this.#options, pass, withinMs: Math.min(withinMs, left) })
  }

  now(): number {
    return this.#options.dialer.clock.now()
  }

  /** Rejects as `requestDocument`. */
  async send(request: Omit<DocumentRequest, 'before' | 'subject'>): Promise<DocumentAnswer> {
    const { dialer, subject } = this.#options
    const { clock } = dialer
    const { localAllowed } = this
    const totalMs = Math.min(requestMs, this.#endsAt - clock.monotonic())
    if (totalMs <= 0) throw new SallyportError('upstream_timeout')
    return await requestDocument(
      { connect: (destination) => dialer.connect(destination), clock, localAllowed },
      { ...request, subject, before: () => this.#leaving() },
      { maxBytes: documentBytes, totalMs },
    )
  }

  /**
   * The JSON object at a place; undefined when there is none: 4xx, a redirect, or anything else, as servers answer
   * that know nothing of the place. Rejects with `upstream_*` when it cannot be known.
   */
  async find(url: string, headers: DocumentRequest['headers'] = {}): Promise<Document | undefined> {
    try {
      const accept = { accept: 'application/json' }
      const request = { method: 'GET', url, headers: { ...accept, ...headers } } as const
      const { status, body } = await this.send(request)
      if (status >= 500) throw new SallyportError('upstream_http_5xx')
      return status === 200 ? parseDocument(body) : undefined
    } catch (thrown) {
      if (toSallyportError(thrown).code === 'upstream_protocol') return undefined
      throw thrown
    }
  }

  #leaving(): void {
    const code = this.#isSent ? undefined : this.#options.pass()
    if (code) throw new SallyportError(code)
    this.#isSent = true
  }
}
