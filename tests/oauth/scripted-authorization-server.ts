/**
 * An authorization server that does what a test tells it to, right or wrong. Where nothing is told it is a good one: codes
 * are used once and need their verifier, redirect URIs and clients are compared, refresh tokens rotate.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { exportJWK } from 'jose'
import type { ServerCertificate } from '../../apps/worker/src/testing/server-certificate.ts'
import { type Listening, listen, readAll } from './listen.ts'
import { commit, type ServerFault } from './scripted-faults.ts'
import { Grants } from './scripted-grants.ts'

export interface Switches {
  /** Path of the issuer: empty or `/tenant1`. */
  path: string
  /** Where metadata is. */
  metadata: 'oauth' | 'openid-inserted' | 'openid-appended' | 'nowhere'
  /** Whatever it says of itself, changed before it is said. */
  alter: (metadata: Record<string, unknown>) => Record<string, unknown>
  announcesIss: boolean
  /** `iss` of its answers; `correct`, left out, or this text. */
  iss: string | undefined
  challengeMethods: readonly string[] | undefined
  authMethods: readonly string[] | undefined
  scopesSupported: readonly string[] | undefined
  takesMetadataDocuments: boolean
  /** Undefined: there is no registration. */
  register: ((request: Record<string, unknown>) => Record<string, unknown>) | undefined
  /** Who signs in. */
  account: Record<string, unknown>
  /** How it says who signed in. */
  tells: 'nothing' | 'id_token' | 'userinfo' | 'members'
  /** Scope of a token answer; undefined leaves it out. */
  giveScope: (asked: string | undefined) => string | undefined
  expiresIn: unknown
  givesRefreshToken: boolean
  rotates: boolean
  /** Further members of a token answer, or others instead. */
  alterTokens: (answer: Record<string, unknown>) => Record<string, unknown>
  /** The person says no. */
  denies: string | undefined
  /** What a token answer waits for, when all it says holds already. */
  tokensAfter: Promise<void> | undefined
  /** There is a place to revoke tokens at. */
  revokes: boolean
  /** With one token goes all that its client was given. */
  revokesAll: boolean
  /** Where below the issuer tokens are given and revoked. */
  tokenPath: string
  revokePath: string
}

export interface KnownClient {
  readonly secret?: string
  readonly redirectUris?: readonly string[]
  /** SPKI, of `private_key_jwt`. */
  readonly publicKeyPem?: string
}

export interface ServerRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly form: URLSearchParams
}

export const registeredSecret = 'rs-1234567890'

const defaults = (): Switches => ({
  path: '',
  metadata: 'oauth',
  alter: (metadata) => metadata,
  announcesIss: true,
  iss: 'correct',
  challengeMethods: ['S256'],
  authMethods: ['client_secret_basic', 'client_secret_post', 'none', 'private_key_jwt'],
  scopesSupported: undefined,
  takesMetadataDocuments: false,
  register: (request) => ({
    client_id: 'registered',
    ...(request['token_endpoint_auth_method'] === 'none'
      ? {}
      : { client_secret: registeredSecret }),
    ...request,
  }),
  account: { sub: 'alice', email: 'alice@example.com' },
  tells: 'nothing',
  giveScope: (asked) => asked,
  expiresIn: 3_600,
  givesRefreshToken: true,
  rotates: true,
  alterTokens: (answer) => answer,
  denies: undefined,
  tokensAfter: undefined,
  revokes: true,
  revokesAll: false,
  tokenPath: '/token',
  revokePath: '/revoke',
})

export class ScriptedAuthorizationServer {
  readonly switches: Switches
  readonly clients = new Map<string, KnownClient>()
  readonly requests: ServerRequest[] = []
  /** By path below the issuer; once each unless `forever`. */
  readonly faults = new Map<string, { readonly fault: ServerFault; readonly forever: boolean }>()
  readonly grants: Grants
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  #listening: Listening | undefined

  private constructor(switches: Partial<Switches>) {
    this.switches = { ...defaults(), ...switches }
    this.grants = new Grants(this, this.#keys.privateKey)
  }

  static async start(
    switches: Partial<Switches> = {},
    tls?: ServerCertificate,
  ): Promise<ScriptedAuthorizationServer> {
    const server = new ScriptedAuthorizationServer(switches)
    const serve = (request: IncomingMessage, response: ServerResponse) =>
      void server.#serve(request, response)
    server.#listening = await listen(serve, tls)
    return server
  }

  get origin(): string {
    return this.#listening?.url ?? ''
  }

  get issuer(): string {
    return `${this.origin}${this.switches.path}`
  }

  close(): Promise<void> {
    return this.#listening?.close() ?? Promise.resolve()
  }

  fail(path: string, fault: ServerFault, forever = false): void {
    this.faults.set(path, { fault, forever })
  }

  /** Requests to a path below the issuer. */
  asked(path: string): ServerRequest[] {
    return this.requests.filter((request) => request.path === `${this.switches.path}${path}`)
  }

  /** What a browser brings back from the address. */
  visit(authorizeUrl: string): Record<string, string> {
    const { origin, pathname, searchParams } = new URL(authorizeUrl)
    if (`${origin}${pathname}` !== `${this.issuer}/authorize`) throw new Error('not our address')
    return Object.fromEntries(this.#authorize(searchParams).searchParams)
  }

  /** True for an access token of ours that is good for the resource. */
  accepts(token: string | undefined, resource: string): boolean {
    return this.grants.accepts(token, resource)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(request)
    const { pathname, searchParams } = new URL(request.url ?? '/', this.origin)
    const { method = '', headers } = request
    const form = new URLSearchParams(body)
    const seen = { method, path: pathname, query: searchParams, headers, body, form }
    this.requests.push(seen)
    const path = pathname.slice(this.switches.path.length)
    const planned = this.faults.get(path) ?? this.faults.get(pathname)
    if (planned) {
      if (!planned.forever) this.faults.delete(path)
      commit(planned.fault, response)
    } else await this.#answer(path, seen, response)
  }

  async #answer(path: string, seen: ServerRequest, response: ServerResponse): Promise<void> {
    const { switches } = this
    if (seen.path === this.#metadataPath()) return json(response, 200, this.#metadata())
    if (path === '/jwks') {
      const jwk = await exportJWK(this.#keys.publicKey)
      return json(response, 200, { keys: [{ ...jwk, kid: 'k1', alg: 'ES256', use: 'sig' }] })
    }
    if (path === switches.tokenPath) {
      const { tokensAfter } = switches
      const { status, body } = await this.grants.token(seen)
      await tokensAfter
      return json(response, status, body)
    }
    if (path === switches.revokePath && switches.revokes) {
      const { status, body } = await this.grants.revoke(seen)
      return json(response, status, body)
    }
    if (path === '/userinfo') {
      const isKnown = this.grants.isIssued(seen.headers.authorization?.slice(7))
      return json(response, isKnown ? 200 : 401, isKnown ? switches.account : {})
    }
    if (path === '/register' && switches.register) {
      const client = switches.register(JSON.parse(seen.body))
      const { client_id: id, client_secret: secret, redirect_uris: redirectUris } = client
      this.clients.set(String(id), { secret, redirectUris } as KnownClient)
      return json(response, 201, client)
    }
    json(response, 404, { error: 'not_found' })
  }

  #metadataPath(): string | undefined {
    const { metadata, path } = this.switches
    if (metadata === 'oauth') return `/.well-known/oauth-authorization-server${path}`
    if (metadata === 'openid-inserted') return `/.well-known/openid-configuration${path}`
    return metadata === 'openid-appended' ? `${path}/.well-known/openid-configuration` : undefined
  }

  #metadata(): Record<string, unknown> {
    const { switches, issuer } = this
    return switches.alter({
      issuer,
      authorization_endpoint: `${issuer}/authorize?theme=dark`,
      token_endpoint: `${issuer}${switches.tokenPath}`,
      ...(switches.revokes ? { revocation_endpoint: `${issuer}${switches.revokePath}` } : {}),
      ...(switches.register ? { registration_endpoint: `${issuer}/register` } : {}),
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: switches.challengeMethods,
      token_endpoint_auth_methods_supported: switches.authMethods,
      scopes_supported: switches.scopesSupported,
      authorization_response_iss_parameter_supported: switches.announcesIss || undefined,
      client_id_metadata_document_supported: switches.takesMetadataDocuments || undefined,
    })
  }

  /** Where the browser is sent. */
  #authorize(query: URLSearchParams): URL {
    const client = this.clients.get(query.get('client_id') ?? '')
    const redirectUri = query.get('redirect_uri') ?? ''
    const isKnown = client?.redirectUris?.includes(redirectUri) ?? false
    const isDocument = this.switches.takesMetadataDocuments && !client
    if (!isKnown && !isDocument) throw new Error('unknown client, or another redirect URI')
    const { denies, iss } = this.switches
    const location = new URL(redirectUri)
    const said = denies ? { error: denies } : { code: this.grants.authorize(query) }
    for (const [name, value] of Object.entries(said)) location.searchParams.set(name, value)
    location.searchParams.set('state', query.get('state') ?? '')
    if (iss !== undefined) location.searchParams.set('iss', iss === 'correct' ? this.issuer : iss)
    return location
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
