/**
 * An MCP server whose every behaviour a test can script: both protocol eras, any tool, any failure. It keeps a log of
 * what it received, so that a test can say what an upstream did and did not see.
 */
import { randomInt, randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Dedup, Keys, keyOf } from './scripted-dedup.ts'
import {
  type ActiveFault,
  breakBefore,
  type Fault,
  type FaultScope,
  keepsFromActing,
  takeFault,
} from './scripted-faults.ts'
import { headerProblem, type Params } from './scripted-headers.ts'
import { event, type Member, openStream, Reply } from './scripted-reply.ts'
import {
  defaultTools,
  type ScriptedTool,
  type ToolOutcome,
  type UpstreamState,
} from './scripted-tools.ts'

export type { Fault, FaultScope } from './scripted-faults.ts'
export { defaultTools, type ScriptedTool, type ToolCall, text } from './scripted-tools.ts'

export interface UpstreamOptions {
  /** `dual` when left out. */
  readonly era?: 'legacy' | 'modern' | 'dual'
  /** Demands `Authorization: Bearer …`, else 401. */
  readonly bearer?: string
  /** Demands these headers, else 401. */
  readonly headers?: Readonly<Record<string, string>>
  /** How results travel; `json` when left out. */
  readonly reply?: 'json' | 'sse'
  readonly tools?: readonly ScriptedTool[]
  /** Knows a call by its idempotency key and acts once for each. Left out: keys mean nothing to it. */
  readonly dedup?: Dedup
  /** Tools on one page of `tools/list`. */
  readonly pageSize?: number
  readonly advertise?: readonly ('resources' | 'prompts' | 'completions' | 'logging' | 'tasks')[]
  /** Whether the legacy era keeps sessions; true when left out. */
  readonly sessions?: boolean
  /** Status of a legacy request with a session that is not known. */
  readonly unknownSession?: 404 | 400
  /** Legacy GET stream and `subscriptions/listen`; true when left out. */
  readonly standingStreams?: boolean
  readonly tls?: { readonly key: string; readonly cert: string }
  readonly host?: string
  readonly port?: number
  /** Path and query, `/mcp` when left out. */
  readonly path?: string
}

export interface LoggedRequest {
  readonly verb: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Parsed; the text when it is no JSON. */
  readonly body: unknown
  readonly text: string
  /** JSON-RPC method. */
  readonly method: string | undefined
  /** Which of the accepted sockets it came by, from 1. */
  readonly socket: number
}

type Message = {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Params
  readonly result?: unknown
  readonly error?: unknown
}

const modern = '2026-07-28'
const legacyKnown = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const metaKey = (name: string) => `io.modelcontextprotocol/${name}`
const serverInfo = { name: 'scripted', version: '1.0.0' }
/** Enough for every test; a benchmark does not fill memory with it. */
const logLimit = 10_000

export function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  return new Upstream(options).listen()
}

export class Upstream {
  readonly state: UpstreamState = { counter: randomInt(1_000, 1_000_000), effects: 0 }
  /** Every request, oldest first. */
  readonly requests: LoggedRequest[] = []
  /** What the client answered to requests of this server. */
  readonly answers: Message[] = []
  /** Methods asked of the client in the middle of every call. */
  askDuringCalls: readonly string[] = []
  /** How long a legacy call waits for the client's answers. */
  answerWithin = 2_000
  tools: readonly ScriptedTool[]
  readonly #options: UpstreamOptions
  readonly #keys: Keys | undefined
  readonly #counts = new Map<string, number>()
  readonly #faults: ActiveFault[] = []
  readonly #sessions = new Set<string>()
  readonly #streams = new Map<ServerResponse, string | number | undefined>()
  readonly #held: (() => void)[] = []
  readonly #watchers = new Set<() => void>()
  readonly #sockets = new Map<Socket, number>()
  /** Those whose handshake is not over too. */
  readonly #connected = new Set<Socket>()
  readonly #server: ReturnType<typeof createServer>
  #accepted = 0
  #nextAsk = 1

  constructor(options: UpstreamOptions) {
    this.#options = options
    this.tools = options.tools ?? defaultTools
    this.#keys = options.dedup ? new Keys(options.dedup) : undefined
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      this.#receive(request, response).catch((cause: unknown) => {
        response.destroy(cause instanceof Error ? cause : new Error(String(cause)))
      })
    }
    this.#server = options.tls ? createTlsServer(options.tls, handle) : createServer(handle)
    this.#server.on('connection', (socket: Socket) => {
      this.#connected.add(socket)
      socket.once('close', () => this.#connected.delete(socket))
    })
    this.#server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#sockets.set(socket, ++this.#accepted)
      socket.once('close', () => {
        this.#sockets.delete(socket)
        this.#changed()
      })
    })
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.#options.port ?? 0, this.#options.host ?? '127.0.0.1', resolve)
    })
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    const scheme = this.#options.tls ? 'https' : 'http'
    const host = this.#options.host ?? '127.0.0.1'
    return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${this.port}${this.#path}`
  }

  get #path(): string {
    return this.#options.path ?? '/mcp'
  }

  /** Sockets accepted since the start. */
  get connections(): number {
    return this.#accepted
  }

  /** Sockets that are open now. */
  get open(): number {
    return this.#sockets.size
  }

  get effects(): number {
    return this.state.effects
  }

  /** Calls it knew by their key. */
  get repeats(): number {
    return this.#keys?.repeats ?? 0
  }

  /** Requests with that JSON-RPC method, or that HTTP verb for `GET` and `DELETE`. */
  count(method: string): number {
    return this.#counts.get(method) ?? 0
  }

  get deletes(): number {
    return this.count('DELETE')
  }

  /** Resolves once `count(method)` has reached `atLeast`. */
  async received(method: string, atLeast = 1): Promise<void> {
    await this.until(() => this.count(method) >= atLeast)
  }

  /** Resolves once the condition holds; looked at after every request, answer and stream. */
  async until(condition: () => boolean): Promise<void> {
    if (condition()) return
    await new Promise<void>((resolve) => {
      const watcher = (): void => {
        if (!condition()) return
        this.#watchers.delete(watcher)
        resolve()
      }
      this.#watchers.add(watcher)
    })
  }

  misbehave(fault: Fault, scope: FaultScope = {}): void {
    this.#faults.push({ ...scope, fault, left: scope.times ?? Number.POSITIVE_INFINITY })
  }

  /** Ends every fault. Held answers stay held. */
  behave(): void {
    this.#faults.length = 0
  }

  /** Answers what `hang` held back. */
  answerHeld(): void {
    for (const go of this.#held.splice(0)) go()
  }

  /** Legacy sessions and standing streams are gone, as after a restart. */
  forgetSessions(): void {
    this.#sessions.clear()
    this.closeStreams()
  }

  closeStreams(): void {
    for (const stream of this.#streams.keys()) stream.end()
  }

  get streams(): number {
    return this.#streams.size
  }

  setTools(tools: readonly ScriptedTool[]): void {
    this.tools = tools
  }

  /** `notifications/tools/list_changed` on every standing stream. */
  announceToolsChanged(): void {
    this.#tellStreams({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  }

  /** A request of this server that belongs to no call, on every standing stream. */
  ask(method: string): void {
    this.#tellStreams({ jsonrpc: '2.0', id: `ask-${this.#nextAsk++}`, method, params: {} })
  }

  async close(): Promise<void> {
    for (const socket of [...this.#sockets.keys(), ...this.#connected]) socket.destroy()
    if (!this.#server.listening) return
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #tellStreams(message: Record<string, unknown>): void {
    for (const [stream, subscription] of this.#streams) {
      const meta = { _meta: { [metaKey('subscriptionId')]: subscription } }
      stream.write(event(subscription === undefined ? message : { ...message, params: meta }))
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const message = parse(body)
    const method = message?.method ?? (request.method === 'POST' ? undefined : request.method)
    this.#log(request, body, message)
    if (method) this.#counts.set(method, this.count(method) + 1)
    const fault = takeFault(this.#faults, method ?? '', message?.params?.name)
    try {
      if (fault && keepsFromActing(fault, method ?? '')) {
        const isDone = breakBefore(fault.fault, response) || fault.fault.kind === 'hang'
        if (!isDone) response.socket?.destroy()
      } else await this.#serve(request, response, message, fault)
    } finally {
      this.#changed()
    }
  }

  #log(request: IncomingMessage, text: string, message: Message | undefined): void {
    if (this.requests.length >= logLimit) this.requests.shift()
    this.requests.push({
      verb: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: message ?? text,
      text,
      method: message?.method,
      socket: this.#sockets.get(request.socket) ?? 0,
    })
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    message: Message | undefined,
    fault: ActiveFault | undefined,
  ): Promise<void> {
    const reply = new Reply(response, message?.id, fault)
    if (!this.#authorized(request.headers)) {
      response.setHeader('www-authenticate', 'Bearer')
      return reply.refuse(401, -32001, 'who are you')
    }
    if (request.url !== this.#path) return reply.refuse(404, -32601, 'nothing here')
    const version = request.headers['mcp-protocol-version']
    const meta = message?.params?._meta
    const isModern = version === modern || meta?.[metaKey('protocolVersion')] !== undefined
    const era = this.#options.era ?? 'dual'
    const call = { request, response, message, reply, fault }
    if (era === 'modern' || (era === 'dual' && isModern)) return this.#serveModern(call)
    return this.#serveLegacy(call)
  }

  #authorized(headers: IncomingHttpHeaders): boolean {
    const { bearer, headers: demanded = {} } = this.#options
    if (bearer !== undefined && headers.authorization !== `Bearer ${bearer}`) return false
    return Object.entries(demanded).every(([name, value]) => headers[name.toLowerCase()] === value)
  }

  async #serveModern(call: Exchange): Promise<void> {
    const { request, message, reply, response } = call
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end()
      return
    }
    if (!message?.method) return reply.refuse(400, -32600, 'not a request')
    const meta = message.params?._meta
    const requested = meta?.[metaKey('protocolVersion')]
    if (message.id === undefined) {
      response.writeHead(202).end()
      return
    }
    if (requested !== modern) {
      const data = { supported: [modern], requested: requested ?? null }
      return reply.refuse(400, -32022, 'unsupported protocol version', data)
    }
    const tool = this.tools.find((one) => one.name === message.params?.name)
    const problem = headerProblem(request.headers, message.method, message.params, tool)
    if (problem) return reply.refuse(400, -32020, problem)
    if (message.method === 'subscriptions/listen' && this.#options.standingStreams !== false)
      return this.#listen(response, message)
    await this.#run(call, true)
  }

  #listen(response: ServerResponse, message: Message): void {
    const filter = message.params?.notifications
    const granted = filter?.toolsListChanged === true ? { toolsListChanged: true } : {}
    openStream(response)
    response.write(
      event({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: granted, _meta: { [metaKey('subscriptionId')]: message.id } },
      }),
    )
    this.#keepStream(response, message.id)
  }

  #keepStream(response: ServerResponse, subscription?: string | number): void {
    this.#streams.set(response, subscription)
    response.once('close', () => {
      this.#streams.delete(response)
      this.#changed()
    })
  }

  async #serveLegacy(call: Exchange): Promise<void> {
    const { request, response, message, reply } = call
    const session = String(request.headers['mcp-session-id'] ?? '')
    if (request.method === 'POST' && message?.method === 'initialize')
      return this.#initialize(message, reply, response)
    const keepsSessions = this.#options.sessions !== false
    if (keepsSessions && session === '') return reply.refuse(400, -32000, 'a session id is needed')
    if (keepsSessions && !this.#sessions.has(session)) {
      const status = this.#options.unknownSession ?? 404
      return reply.refuse(status, status === 404 ? -32001 : -32000, 'no such session')
    }
    if (request.method === 'DELETE') {
      this.#sessions.delete(session)
      response.writeHead(200).end()
      return
    }
    if (request.method === 'GET') {
      if (this.#options.standingStreams === false) {
        response.writeHead(405, { allow: 'POST, DELETE' }).end()
        return
      }
      openStream(response)
      return this.#keepStream(response)
    }
    if (!message) return reply.refuse(400, -32700, 'not JSON')
    if (!message.method) this.answers.push(message)
    if (!message.method || message.id === undefined) {
      response.writeHead(202).end()
      return
    }
    await this.#run(call, false)
  }

  #initialize(message: Message, reply: Reply, response: ServerResponse): void {
    const asked = String(message.params?.protocolVersion)
    const session = randomUUID()
    this.#sessions.add(session)
    const result = {
      protocolVersion: legacyKnown.includes(asked) ? asked : legacyKnown[0],
      capabilities: this.#capabilities(),
      serverInfo,
    }
    if (this.#options.sessions !== false) response.setHeader('mcp-session-id', session)
    reply.answer({ result }, this.#options.reply === 'sse')
  }

  #capabilities(): Record<string, unknown> {
    const others = (this.#options.advertise ?? []).map((name) => [name, {}])
    const listChanged = this.#options.standingStreams !== false
    return { tools: { listChanged }, ...Object.fromEntries(others) }
  }

  async #run(call: Exchange, isModern: boolean): Promise<void> {
    const member = await this.#member(call, isModern)
    if (!member) return call.reply.refuse(isModern ? 404 : 200, -32601, 'method not found')
    const fault = call.fault?.fault
    if (fault && breakBefore(fault, call.response)) return
    if (fault?.kind === 'late') await delay(fault.ms)
    if (fault?.kind === 'hang') {
      this.#changed()
      await new Promise<void>((resolve) => this.#held.push(resolve))
      if (fault.next && breakBefore(fault.next, call.response)) return
    }
    call.reply.answer(member, this.#options.reply === 'sse')
  }

  async #member(call: Exchange, isModern: boolean): Promise<Member | undefined> {
    const complete = (result: ResultBody, more: Record<string, unknown> = {}) => ({
      result: isModern
        ? {
            ...result,
            resultType: result.resultType ?? 'complete',
            ...more,
            _meta: { [metaKey('serverInfo')]: serverInfo },
          }
        : result,
    })
    const cache = { ttlMs: 0, cacheScope: 'private' }
    switch (call.message?.method) {
      case 'server/discover':
        if (!isModern) return undefined
        return complete({ supportedVersions: [modern], capabilities: this.#capabilities() }, cache)
      case 'ping':
        return isModern ? undefined : { result: {} }
      case 'tools/list':
        return complete(this.#page(call.message.params?.cursor), cache)
      case 'tools/call': {
        const outcome = await this.#callTool(call, isModern)
        return 'result' in outcome ? complete(outcome.result) : outcome
      }
      default:
        return undefined
    }
  }

  #page(cursor: unknown): Record<string, unknown> {
    const from = Number(cursor ?? 0)
    const to = from + (this.#options.pageSize ?? this.tools.length)
    const tools = this.tools.slice(from, to).map(({ run: _run, ...tool }) => ({
      inputSchema: { type: 'object' },
      ...tool,
    }))
    return { tools, ...(to < this.tools.length ? { nextCursor: String(to) } : {}) }
  }

  async #callTool(call: Exchange, isModern: boolean): Promise<ToolOutcome> {
    const params = call.message?.params ?? {}
    const tool = this.tools.find((one) => one.name === params.name)
    if (!tool) return { error: { code: -32602, message: 'no such tool' } }
    const run = () => this.#runTool(call, tool, isModern)
    if (!this.#keys) return run()
    return this.#keys.once(keyOf(call.request.headers, params._meta), run)
  }

  async #runTool(call: Exchange, tool: ScriptedTool, isModern: boolean): Promise<ToolOutcome> {
    const params = call.message?.params ?? {}
    await this.#askDuring(call.reply, isModern)
    const meta = params._meta
    const outcome = tool.run?.({
      arguments: params.arguments ?? {},
      meta,
      headers: call.request.headers,
      url: call.request.url ?? '',
      state: this.state,
      progress: (progress, total, message) => {
        const { progressToken } = meta ?? {}
        if (progressToken === undefined) return
        const said = { progressToken, progress, total, message }
        call.reply.tell({ jsonrpc: '2.0', method: 'notifications/progress', params: said })
      },
    })
    return (await outcome) ?? { result: { content: [{ type: 'text', text: 'ok' }] } }
  }

  /** Asks the client in the middle of a call. A legacy server waits for the answers, a bounded time. */
  async #askDuring(reply: Reply, isModern: boolean): Promise<void> {
    const before = this.answers.length
    for (const method of this.askDuringCalls)
      reply.tell({ jsonrpc: '2.0', id: `ask-${this.#nextAsk++}`, method, params: {} })
    if (isModern || this.askDuringCalls.length === 0) return
    const enough = before + this.askDuringCalls.length
    const answered = this.until(() => this.answers.length >= enough)
    await Promise.race([answered, delay(this.answerWithin, undefined, { ref: false })])
  }
}

type ResultBody = Readonly<Record<string, unknown>> & { readonly resultType?: unknown }

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly message: Message | undefined
  readonly reply: Reply
  readonly fault: ActiveFault | undefined
}

function parse(text: string): Message | undefined {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
