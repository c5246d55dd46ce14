/** A guest endpoint on a real socket with a core that answers by script: for the tests of this folder and the bench. */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { BoundTool, CallOutcome, CallRequest, Session, Toolset } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { digestBytes } from '@sallyport/protocol/node'
import { ownHosts } from '../http/allowed-hosts.ts'
import {
  createGuestEndpoint,
  type GuestEndpoint,
  type GuestEndpointOptions,
} from './guest-endpoint.ts'
import { guestServerOptions } from './timing.ts'

export type ScriptedTool = Partial<Omit<BoundTool, 'binding'>> & {
  readonly connection?: string
  readonly name?: string
}

export function boundTool({ connection = 'files', name = 'read', ...rest }: ScriptedTool = {}) {
  const binding = {
    connectionName: connection,
    exposedName: name,
    catalogId: `cat_${connection}`,
    grantId: `gra_${connection}_${name}`,
    tool: name,
  }
  const tool: BoundTool = {
    binding: binding as BoundTool['binding'],
    title: null,
    description: null,
    inputSchema: { type: 'object' },
    outputSchema: null,
    annotations: null,
    grantLimits: {} as BoundTool['grantLimits'],
    paramHeaders: [],
    effective: (text) => ({ ok: true, text }),
    ...rest,
  }
  return tool
}

export function toolsetOf(tools: readonly BoundTool[]): Toolset {
  const nameOf = ({ binding }: BoundTool, connection: string | null) =>
    connection === null
      ? `${binding.connectionName}__${binding.exposedName}`
      : binding.connectionName === connection && binding.exposedName
  return {
    tools,
    find: (connection, name) => tools.find((tool) => nameOf(tool, connection) === name),
  }
}

export const textResult = (text: string): CallOutcome =>
  result({ content: [{ type: 'text', text }] })

export function result(value: object | Buffer): CallOutcome {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))
  return { kind: 'result', executionId: 'exe_1' as never, result: bytes, isError: false }
}

export interface Script {
  readonly tools?: readonly BoundTool[]
  readonly answer?: (call: CallRequest) => CallOutcome | Promise<CallOutcome>
  readonly options?: Partial<GuestEndpointOptions>
  readonly session?: Partial<Session>
}

export interface ScriptedEndpoint {
  readonly port: number
  readonly url: string
  readonly token: string
  readonly endpoint: GuestEndpoint
  readonly calls: CallRequest[]
  readonly reports: unknown[]
  readonly clock: { now: number }
  /** Another session of the same endpoint. */
  addSession(overrides?: Partial<Session>): { readonly token: string; readonly session: Session }
  set(change: {
    state?: Session['state']
    callable?: readonly BoundTool[]
    isStoreDown?: boolean
  }): void
  connections(): Promise<number>
  close(): Promise<void>
}

function scriptedSessions() {
  const byHash = new Map<string, Session>()
  const addSession = (overrides: Partial<Session> = {}) => {
    const token = randomBytes(32).toString('base64url')
    const id = `ses_${byHash.size + 1}`
    const base = { id, state: 'open', tokenHash: digestBytes(token), unavailable: [] }
    const session = { ...base, ...overrides } as unknown as Session
    byHash.set(session.tokenHash, session)
    return { token, session }
  }
  return { byHash, addSession }
}

export async function startScripted(script: Script = {}): Promise<ScriptedEndpoint> {
  const tools = script.tools ?? [boundTool()]
  const toolset = toolsetOf(tools)
  const clock = { now: 1_800_000_000_000 }
  const calls: CallRequest[] = []
  const reports: unknown[] = []
  const { byHash, addSession } = scriptedSessions()
  let callable = tools
  let isStoreDown = false
  const first = addSession(script.session)
  let hosts: ReadonlySet<string> = new Set()
  const endpoint = createGuestEndpoint({
    sessions: {
      byTokenHash: async (hash) => {
        if (isStoreDown) throw new SallyportError('store_unavailable')
        return byHash.get(hash)
      },
    },
    toolsets: { of: async () => toolset, callable: async () => callable },
    listening: async (_session, open) => open(),
    calls: {
      call: async (call) => {
        calls.push(call)
        return (await script.answer?.(call)) ?? textResult('done')
      },
    },
    settings: () => ({
      bodyLimitBytes: 4_194_304,
      maxCallsPerSession: 64,
      requestsPerMinute: 100_000,
    }),
    macKey: Buffer.alloc(32, 7),
    hosts: () => hosts,
    now: () => clock.now,
    random: (size) => randomBytes(size),
    report: (error) => void reports.push(error),
    release: '9.9.9',
    ...script.options,
  })
  const server = createServer(guestServerOptions, endpoint.handle)
  server.on('checkContinue', endpoint.handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  hosts = ownHosts({ host: '127.0.0.1', port, publicUrl: undefined })
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    token: first.token,
    endpoint,
    calls,
    reports,
    clock,
    addSession,
    set: (change) => {
      callable = change.callable ?? callable
      isStoreDown = change.isStoreDown ?? isStoreDown
      const { state } = change
      if (state) byHash.set(first.session.tokenHash, { ...first.session, state })
    },
    connections: () =>
      new Promise((resolve) => server.getConnections((_, count) => resolve(count))),
    close: async () => {
      await endpoint.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly json: any
}

export type SendOptions = {
  readonly method?: string
  readonly path?: string
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** One HTTP request on a connection of its own, with the bearer unless told otherwise. */
export function send(to: ScriptedEndpoint, options: SendOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = open(to, options, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const isJson = text !== '' && res.headers['content-type'] === 'application/json'
        const json = isJson ? JSON.parse(text) : undefined
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json })
      })
    })
    req.on('error', reject)
  })
}

/** The same, handing over the response as it begins. */
function open(
  { port, token: own }: ScriptedEndpoint,
  { method = 'POST', path = '/mcp', token = own, headers = {}, body }: SendOptions,
  onResponse: (res: IncomingMessage) => void,
) {
  const all: Record<string, string> = {
    accept: 'application/json, text/event-stream',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...headers,
  }
  const req = request({ host: '127.0.0.1', port, method, path, headers: all, agent: false })
  req.on('response', onResponse)
  req.end(body)
  return req
}

export function rpc(method: string, params?: object, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

const namespace = 'io.modelcontextprotocol'

/** A 2026-07-28 request with everything it must carry. */
export function modern(
  method: string,
  params: { name?: string; _meta?: object; [key: string]: unknown } = {},
  id: unknown = 1,
) {
  const _meta = {
    [`${namespace}/protocolVersion`]: '2026-07-28',
    [`${namespace}/clientCapabilities`]: {},
    ...params._meta,
  }
  const name = params.name === undefined ? {} : { 'mcp-name': params.name }
  return {
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...name },
    body: rpc(method, { ...params, _meta }, id),
  }
}

/** Events of a stream as they come. */
export class Events {
  readonly messages: unknown[] = []
  comments = 0
  isEnded = false
  #rest = ''
  #waiting: (() => void)[] = []

  constructor(res: IncomingMessage) {
    res.setEncoding('utf8')
    res.on('data', (chunk: string) => this.#read(chunk))
    res.on('close', () => {
      this.isEnded = true
      this.#wake()
    })
    res.on('error', () => {})
  }

  /** Resolves when `condition` holds of what has come so far; fails after five seconds. */
  async until(condition: (events: Events) => boolean): Promise<void> {
    const deadline = Date.now() + 5_000
    while (!condition(this)) {
      if (Date.now() > deadline) throw new Error(`only ${JSON.stringify(this.messages)}`)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
        setTimeout(resolve, 500)
      })
    }
  }

  #read(chunk: string): void {
    const blocks = (this.#rest + chunk).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) {
      if (block.startsWith(':')) this.comments++
      const data = block.split('\n').find((line) => line.startsWith('data: '))
      if (data) this.messages.push(JSON.parse(data.slice(6)))
    }
    this.#wake()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** Opens a stream and waits for its headers. */
export function openStream(to: ScriptedEndpoint, options: SendOptions) {
  return new Promise<{ res: IncomingMessage; events: Events; close: () => void }>(
    (resolve, reject) => {
      const req = open(to, options, (res) =>
        resolve({ res, events: new Events(res), close: () => req.destroy() }),
      )
      req.on('error', reject)
    },
  )
}

/** A bare connection, for what no HTTP client would send. `stubborn`: it goes on sending when the other side has ended. */
export function bareSocket(
  { port }: ScriptedEndpoint,
  how?: 'stubborn',
): Promise<Socket & { readonly got: string }> {
  return new Promise((resolve) => {
    const to = { port, host: '127.0.0.1', allowHalfOpen: how === 'stubborn' }
    const socket = connect(to, () => resolve(bare))
    const bare = Object.assign(socket, { got: '' })
    socket.on('data', (chunk) => {
      bare.got += chunk.toString('latin1')
    })
    socket.on('error', () => {})
  })
}

export function bearerHead(
  to: ScriptedEndpoint,
  rest: readonly string[],
  token = to.token,
): string {
  const lines = [
    'POST /mcp HTTP/1.1',
    `Host: 127.0.0.1:${to.port}`,
    `Authorization: Bearer ${token}`,
    ...rest,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Waits, by looking again, until something outside our reach has happened; fails after five seconds. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
