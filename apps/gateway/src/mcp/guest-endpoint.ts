/**
 * The guest endpoint: `/mcp` and `/mcp/<connection>` for one session's harness, in both protocol eras (which is which:
 * era.ts), written by hand on node:http because every call passes here. It authenticates and frames; it decides nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Calls, Session, SessionReads, Toolsets } from '@sallyport/core'
import { Register, type SessionId, toSallyportError } from '@sallyport/protocol'
import { type AdmitDeps, admit } from './admit.ts'
import { answerEmpty, refusalOf, refuseUnread } from './answer.ts'
import { Deliveries } from './deliveries.ts'
import { type Malformed, type Message, readMessage } from './envelope.ts'
import { serveLegacySession } from './legacy-session.ts'
import { mcpSessionIds } from './mcp-session-id.ts'
import { randomIds } from './random-ids.ts'
import { type BodyRead, readBody } from './read-body.ts'
import { type ReceiveDeps, receive } from './receive.ts'
import { type GuestLimits, Traffics } from './session-traffic.ts'
import { settledCalls } from './shim.ts'
import { ShownTools } from './shown-tools.ts'
import { defaultTiming, type Timing } from './timing.ts'
import { ToolList } from './tool-list.ts'

export interface GuestEndpointOptions {
  readonly sessions: Pick<SessionReads, 'byTokenHash' | 'get'>
  readonly toolsets: Toolsets
  readonly calls: Calls
  /** Has to call `open`, at the latest when changes begin to be told to the session. */
  readonly listening: (session: Session, open: () => void) => Promise<void>
  /** Asked for each request, so that a changed setting holds at once. */
  readonly settings: () => GuestLimits
  /** At least 32 bytes, the same on every gateway of a deployment and after a restart. */
  readonly macKey: Uint8Array
  /** Values of `Host` that are ours (`ownHosts`). Asked for each request, so keep the set. */
  readonly hosts: () => ReadonlySet<string>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: (size: number) => Uint8Array
  /** Told what went wrong inside; the guest learns a code. */
  readonly report: (error: unknown, where: string) => void
  readonly release: string
  readonly timing?: Partial<Timing>
}

export interface GuestEndpoint {
  /** For the `request` and `checkContinue` events of a server made with `guestServerOptions`. Never throws. */
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void
  /** The same for a listener that only the guest of this session reaches: it brings no bearer. */
  readonly handleOf: (session: SessionId) => (req: IncomingMessage, res: ServerResponse) => void
  /** Sessions that have a stream for changes open. */
  watched(): readonly SessionId[]
  /** Names, as at `/mcp`, of the tools that the session's guest has asked to see here and was shown. */
  shown(session: SessionId): ReadonlySet<string>
  /** Tells the open streams of these sessions that their list of tools changed. */
  toolsChanged(sessions: readonly SessionId[] | 'all'): void
  /** Ends the open streams of sessions that ended; their tokens are refused by their rows. */
  sessionsEnded(sessions: readonly SessionId[]): void
  /** Refuses new requests, ends streams, and resolves when the last answer has left or its time is over. */
  close(): Promise<void>
}

export function createGuestEndpoint(options: GuestEndpointOptions): GuestEndpoint {
  return new Endpoint(options)
}

const sweepMs = 60_000

class Endpoint implements GuestEndpoint {
  readonly #options: GuestEndpointOptions
  readonly #deps: ReceiveDeps
  readonly #door: AdmitDeps
  readonly #traffics: Traffics
  readonly #shown = new ShownTools()
  /** By number of the request. */
  readonly #open = new Register<number, ServerResponse>()
  #requests = 0
  readonly #sweep: NodeJS.Timeout
  #isClosing = false
  #onIdle: () => void = () => {}

  constructor(options: GuestEndpointOptions) {
    const { settings, now, macKey, random, sessions } = options
    this.#options = options
    this.#traffics = new Traffics(settings, now)
    this.#door = { ...options, traffics: this.#traffics, isClosing: () => this.#isClosing }
    const timing = { ...defaultTiming, ...options.timing }
    this.#deps = {
      ...options,
      timing,
      deliveries: new Deliveries(now, timing.lingerMs),
      ids: mcpSessionIds(macKey, random),
      callIds: randomIds(random, now),
      list: new ToolList(),
      shown: this.#shown,
      isStillOpen: async ({ tokenHash }) =>
        (await sessions.byTokenHash(tokenHash))?.state === 'open',
    }
    this.#sweep = setInterval(() => this.#traffics.sweep(), sweepMs)
    this.#sweep.unref()
  }

  readonly handle = (req: IncomingMessage, res: ServerResponse): void =>
    this.#handle(req, res, undefined)

  readonly handleOf =
    (session: SessionId) =>
    (req: IncomingMessage, res: ServerResponse): void =>
      this.#handle(req, res, session)

  #handle(req: IncomingMessage, res: ServerResponse, bound: SessionId | undefined): void {
    const request = ++this.#requests
    this.#open.set(request, res)
    this.#deps.deliveries.request(req.socket)
    res.once('close', () => {
      this.#open.delete(request)
      if (this.#open.size === 0) this.#onIdle()
    })
    this.#serve(req, res, bound).catch((thrown) => {
      this.#options.report(thrown, 'guest endpoint')
      refuseUnread(req, res, refusalOf(toSallyportError(thrown).code), this.#deps.timing)
    })
  }

  watched(): readonly SessionId[] {
    return this.#traffics.streaming()
  }

  shown(session: SessionId): ReadonlySet<string> {
    return this.#shown.of(session)
  }

  toolsChanged(sessions: readonly SessionId[] | 'all'): void {
    for (const stream of this.#traffics.streams(sessions)) stream.changed()
  }

  sessionsEnded(sessions: readonly SessionId[]): void {
    for (const stream of this.#traffics.streams(sessions)) stream.end()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#sweep)
    this.#deps.deliveries.stop()
    for (const stream of this.#traffics.streams('all')) stream.end()
    if (this.#open.size === 0) return
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, this.#deps.timing.closeMs)
      this.#onIdle = () => {
        clearTimeout(late)
        resolve()
      }
    })
    for (const res of this.#open.values()) res.destroy()
  }

  async #serve(
    req: IncomingMessage,
    res: ServerResponse,
    bound: SessionId | undefined,
  ): Promise<void> {
    const { settings } = this.#options
    const admitted = await admit(req, bound, this.#door)
    const { timing, deliveries } = this.#deps
    if ('status' in admitted) return refuseUnread(req, res, admitted, timing)
    const settled = settledCalls(req)
    if (settled) {
      deliveries.settle(admitted.session.id, settled)
      return answerEmpty(res, 202)
    }
    if (req.method !== 'POST') return serveLegacySession(req, res, admitted, this.#deps)
    if (req.headers.expect !== undefined) res.writeContinue()
    const body = await readBody(req, settings().bodyLimitBytes, admitted.traffic.bodies)
    switch (body.kind) {
      case 'gone':
        return
      case 'too_large':
        return refuseUnread(req, res, refusalOf('too_large'), timing)
      case 'too_many':
        return refuseUnread(req, res, refusalOf('too_many', { 'retry-after': '1' }), timing)
      case 'read':
        try {
          await receive(req, res, admitted, messageOf(body), this.#deps)
        } finally {
          // A call may go on when its guest has left, and a stream long after its request was served.
          if (res.closed) body.release()
          else res.once('close', body.release)
        }
    }
  }
}

/** Not in line above: a function that waits keeps whatever passed through it. */
function messageOf(body: BodyRead): Message | Malformed {
  return readMessage(body.take())
}
