/** An MCP server behind OAuth: it says who gives tokens for it, and lets nobody in without one. */
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { ServerCertificate } from '../../apps/worker/src/testing/server-certificate.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { type Listening, listen, readAll } from './listen.ts'
import { commit, type ServerFault } from './scripted-faults.ts'

export interface ProtectedSwitches {
  /** `WWW-Authenticate` of a 401; undefined leaves it out. */
  challenge: (server: ProtectedServer) => string | undefined
  /** Path of its metadata; undefined: none. */
  metadataAt: string | undefined
  metadata: (server: ProtectedServer) => Record<string, unknown>
  issuers: readonly string[]
  /** Scopes a token needs; a token without them is refused with 403. */
  demands: string | undefined
  /** What it says then. */
  refusal: (demands: string | undefined, token: string | undefined) => string
  lets: (token: string | undefined, resource: string, isCall: boolean) => boolean
  scopeOf: (token: string | undefined) => string | undefined
}

export class ProtectedServer {
  readonly switches: ProtectedSwitches
  readonly requests: { readonly method: string; readonly path: string; readonly token?: string }[] =
    []
  /** Tokens of the calls that came, one a call. */
  readonly callsWith: (string | undefined)[] = []
  readonly faults = new Map<string, ServerFault>()
  readonly upstream: Upstream
  readonly #refused = new Set<string | undefined>()
  #listening: Listening | undefined

  private constructor(switches: Partial<ProtectedSwitches>, upstream: Upstream) {
    this.upstream = upstream
    this.switches = {
      challenge: ({ metadataUrl }) =>
        metadataUrl ? `Bearer realm="mcp", resource_metadata="${metadataUrl}"` : 'Bearer',
      metadataAt: '/.well-known/oauth-protected-resource/mcp',
      metadata: ({ url, switches: { issuers } }) => ({
        resource: url,
        authorization_servers: issuers,
      }),
      issuers: [],
      demands: undefined,
      refusal: (demands) => `Bearer error="insufficient_scope", scope="${demands}"`,
      lets: () => false,
      scopeOf: () => undefined,
      ...switches,
    }
  }

  static async start(
    switches: Partial<ProtectedSwitches>,
    tls?: ServerCertificate,
  ): Promise<ProtectedServer> {
    const server = new ProtectedServer(switches, await startUpstream())
    const serve = (request: IncomingMessage, response: ServerResponse) =>
      void server.#serve(request, response)
    server.#listening = await listen(serve, tls)
    return server
  }

  get origin(): string {
    return this.#listening?.url ?? ''
  }

  get url(): string {
    return `${this.origin}/mcp`
  }

  get metadataUrl(): string | undefined {
    const { metadataAt } = this.switches
    return metadataAt === undefined ? undefined : `${this.origin}${metadataAt}`
  }

  /** The token that came last is not taken any more. */
  refuseNewest(): string | undefined {
    const newest = this.requests.findLast(({ token }) => token !== undefined)?.token
    this.#refused.add(newest)
    return newest
  }

  async close(): Promise<void> {
    await this.#listening?.close()
    await this.upstream.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(request)
    const { pathname } = new URL(request.url ?? '/', this.origin)
    const { method = '', headers } = request
    const token = headers.authorization?.replace(/^Bearer /, '')
    this.requests.push({ method, path: pathname, ...(token === undefined ? {} : { token }) })
    if (body.includes('"tools/call"')) this.callsWith.push(token)
    const fault = this.faults.get(pathname)
    if (fault) commit(fault, response)
    else if (pathname === this.switches.metadataAt) this.#tell(response)
    else if (pathname === '/mcp') this.#guard(request, token, body, response)
    else response.writeHead(404).end()
  }

  #tell(response: ServerResponse): void {
    const document = JSON.stringify(this.switches.metadata(this))
    response.writeHead(200, { 'content-type': 'application/json' }).end(document)
  }

  #guard(
    request: IncomingMessage,
    token: string | undefined,
    body: string,
    response: ServerResponse,
  ): void {
    const { lets, challenge, demands, refusal, scopeOf, metadata } = this.switches
    const resource = String(metadata(this)['resource'])
    const isCall = body.includes('"tools/call"')
    if (this.#refused.has(token) || !lets(token, resource, isCall)) {
      const said = challenge(this)
      response.writeHead(401, said === undefined ? {} : { 'www-authenticate': said }).end()
      return
    }
    const given = scopeOf(token)?.split(' ') ?? []
    const isEnough = demands === undefined || demands.split(' ').every((one) => given.includes(one))
    if (!isEnough && body.includes('"tools/call"')) {
      response.writeHead(403, { 'www-authenticate': refusal(demands, token) }).end()
      return
    }
    this.#pass(request, body, response)
  }

  #pass(request: IncomingMessage, body: string, response: ServerResponse): void {
    const { method, headers } = request
    const { authorization, ...rest } = headers
    const inner = httpRequest(this.upstream.url, { method, headers: rest }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    inner.on('error', () => response.destroy())
    response.on('close', () => inner.destroy())
    inner.end(body)
  }
}
