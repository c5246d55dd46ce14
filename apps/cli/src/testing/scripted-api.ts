/** A control API over a real socket that says what it was told to say, and checks every request against the table. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ErrorCode, errors, type Route, type RouteName, routes } from '@sallyport/protocol'
import { thumbprint, type VaultKey } from '@sallyport/protocol/node'
import { sampleAnswers } from './sample-answers.ts'

export interface SeenRequest {
  readonly route: RouteName
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly authorization: string | undefined
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

export class ScriptedApi {
  readonly requests: SeenRequest[] = []
  /** Everything that was received, bodies included. */
  received = ''
  readonly vault: VaultKey
  /** Leave requests unanswered. */
  hangs = false
  localUpstreams = false
  readonly #replies = new Map<RouteName, Reply>()
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch((cause: Error) => {
      response.writeHead(599).end(cause.stack)
    })
  })

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('x25519')
    const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
    const jwk = { kty: 'OKP', crv: 'X25519', x } as const
    this.vault = { kid: thumbprint(jwk), jwk, privateKey: privateKey as KeyObject }
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The answer of a route from now on. */
  answer(route: RouteName, body: unknown, status = 200): void {
    this.#replies.set(route, { status, body })
  }

  refuse(route: RouteName, code: ErrorCode, field?: string): void {
    const { http, text, who, retry } = errors[code]
    const error = { code, message: text, who, retry, ...(field === undefined ? {} : { field }) }
    this.answer(route, { error }, http)
  }

  /** The only request for a route. */
  only(route: RouteName): SeenRequest {
    const [found, ...more] = this.requests.filter((one) => one.route === route)
    if (!found || more.length > 0)
      throw new Error(`${route}: ${more.length + (found ? 1 : 0)} times`)
    return found
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    this.received += `${request.method} ${request.url}\n${text}\n`
    const url = new URL(request.url ?? '', this.url)
    if (url.pathname === '/healthz') return void response.end('ok')
    const { name, params } = findRoute(request.method ?? '', url.pathname)
    const body = text === '' ? undefined : JSON.parse(text)
    const route: Route = routes[name]
    if (route.body) route.body.parse(body)
    const query = Object.fromEntries(url.searchParams)
    route.query?.parse(query)
    const { authorization } = request.headers
    this.requests.push({ route: name, params, query, body, authorization })
    if (this.hangs) return
    const reply = this.#replies.get(name) ?? { status: 200, body: this.#sample(name) }
    response.writeHead(reply.status, { 'content-type': 'application/json' })
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
  }

  #sample(name: RouteName): unknown {
    if (name !== 'vault.show') return sampleAnswers[name]
    const { kid, jwk } = this.vault
    return { kid, jwk, localUpstreams: this.localUpstreams }
  }
}

function findRoute(
  method: string,
  pathname: string,
): { readonly name: RouteName; readonly params: Record<string, string> } {
  for (const [name, route] of Object.entries(routes)) {
    const pattern = new RegExp(`^/api/v1${route.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
    const found = route.method === method ? pattern.exec(pathname) : null
    if (!found) continue
    const groups = Object.entries(found.groups ?? {})
    const params = Object.fromEntries(
      groups.map(([key, value]) => [key, decodeURIComponent(value)]),
    )
    return { name: name as RouteName, params }
  }
  throw new Error(`no route for ${method} ${pathname}`)
}
