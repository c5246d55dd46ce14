/** The guest's side of a scripted endpoint: requests, streams and bare connections, for the tests of this folder. */
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { CallRequest } from '@sallyport/core'
import type { ScriptedEndpoint } from './scripted-core.ts'

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
      const [, data] = /^data: (.+)$/m.exec(block) ?? []
      if (data) this.messages.push(JSON.parse(data))
      else if (block.startsWith(':')) this.comments++
      // Gemini CLI drops a server that sends one.
      else throw new Error(`an event without data: ${JSON.stringify(block)}`)
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

/** One call of `files__read` on a bare connection, with call id `call-<id>`. */
export async function bareCall(to: ScriptedEndpoint, era: CallRequest['era'], id = 7) {
  const socket = await bareSocket(to)
  socket.write(bareRequest(to, era, id))
  return socket
}

export function bareRequest(
  to: ScriptedEndpoint,
  era: CallRequest['era'],
  id = 7,
  extra: readonly string[] = [],
): string {
  const _meta = { 'claudecode/toolUseId': `call-${id}` }
  const params = { name: 'files__read', _meta }
  const { headers, body } =
    era === 'modern'
      ? modern('tools/call', params, id)
      : { headers: {}, body: rpc('tools/call', params, id) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const rest = [...extra, ...lines, 'Accept: text/event-stream', `Content-Length: ${body.length}`]
  return bearerHead(to, rest) + body
}

/** Waits, by looking again, until something outside our reach has happened; fails after five seconds. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
