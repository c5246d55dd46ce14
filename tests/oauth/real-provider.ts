/** A real authorization server, and the browser of a person who signs in there. */
import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createLocalJWKSet, type JWK, jwtVerify } from 'jose'
import { errors, type Provider } from 'oidc-provider'
import { type Listening, listen } from './listen.ts'

export interface RealClient {
  readonly [name: string]: unknown
  readonly client_id: string
}

export interface ProviderOptions {
  /** The one it gives tokens for. */
  readonly resource: string
  readonly clients?: readonly RealClient[]
  /** What is at the address of a client id metadata document. */
  readonly documents?: Readonly<Record<string, object>>
}

export class RealProvider {
  readonly #listening: Listening
  readonly #publicJwk: JWK
  /** Who signs in, or undefined when that person says no. */
  account: string | undefined = 'alice'
  /** Paths that were asked for. */
  readonly asked: string[] = []
  /** Of an endpoint of its metadata, the path or the address that it has by now; the one of before is gone. */
  readonly moved = new Map<string, string>()

  private constructor(listening: Listening, publicJwk: JWK) {
    this.#listening = listening
    this.#publicJwk = publicJwk
  }

  static async start(options: ProviderOptions): Promise<RealProvider> {
    const { Provider } = await import('oidc-provider')
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {}
    const listening = await listen((request, response) => handle(request, response))
    const jwk = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'k' }
    const server = new RealProvider(listening, {
      ...publicKey.export({ format: 'jwk' }),
      kid: 'k',
      alg: 'ES256',
    } as JWK)
    const provider = new Provider(listening.url, configurationOf(options, jwk))
    const serve = provider.callback()
    handle = (request, response) => {
      request.url = server.#arrive(request)
      const isPlain = server.moved.size === 0 || request.headers['x-plain'] !== undefined
      if (!isPlain && request.url.startsWith('/.well-known/'))
        void server.#tellMoved(request.url, response)
      else if (!/^\/interaction\//.test(request.url ?? '')) serve(request, response)
      else
        server.#interact(provider, request, response).catch((cause: unknown) => {
          response.writeHead(500).end(String(cause))
        })
    }
    return server
  }

  /** The path that it has for the provider. */
  #arrive({ url = '', headers }: IncomingMessage): string {
    // Asked by ourselves, for what the provider says.
    if (headers['x-plain'] !== undefined) return url
    this.asked.push(url)
    const [endpoint] = [...this.moved].find(([, path]) => path === url) ?? []
    if (endpoint !== undefined) return pathsOf[endpoint] ?? url
    const isGone = [...this.moved.keys()].some((one) => pathsOf[one] === url)
    return isGone ? '/gone' : url
  }

  async #tellMoved(url: string, response: ServerResponse): Promise<void> {
    const plain = await fetch(`${this.issuer}${url}`, { headers: { 'x-plain': '1' } })
    const said = (await plain.json()) as Record<string, unknown>
    for (const [endpoint, path] of this.moved) said[endpoint] = new URL(path, this.issuer).href
    const type = { 'content-type': 'application/json' }
    response.writeHead(plain.status, type).end(JSON.stringify(said))
  }

  get issuer(): string {
    return this.#listening.url
  }

  close(): Promise<void> {
    return this.#listening.close()
  }

  /** True for a token of ours that is for the resource. */
  async accepts(token: string, resource: string): Promise<boolean> {
    const keys = createLocalJWKSet({ keys: [this.#publicJwk] })
    const options = { issuer: this.issuer, audience: resource }
    return await jwtVerify(token, keys, options).then(
      () => true,
      () => false,
    )
  }

  /** What a browser brings back to the redirect URI. */
  async visit(authorizeUrl: string, redirectUri: string): Promise<Record<string, string>> {
    const jar = new Map<string, string>()
    let next = authorizeUrl
    for (let hop = 0; hop < 12; hop++) {
      const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
      const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        jar.set(name, value)
      }
      const location = response.headers.get('location')
      if (!location) throw new Error(`${response.status}: ${(await response.text()).slice(0, 500)}`)
      next = new URL(location, next).href
      if (next.startsWith(redirectUri)) return Object.fromEntries(new URL(next).searchParams)
    }
    throw new Error('the browser is sent around without end')
  }

  async #interact(
    provider: Provider,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { prompt, params, session, grantId } = await provider.interactionDetails(
      request,
      response,
    )
    const finish = (result: object) =>
      provider.interactionFinished(request, response, result, {
        mergeWithLastSubmission: prompt.name !== 'login',
      })
    const { account } = this
    if (account === undefined) return await finish({ error: 'access_denied' })
    if (prompt.name === 'login') return await finish({ login: { accountId: account } })
    const clientId = params['client_id'] ?? ''
    const grant = grantId
      ? await provider.Grant.find(grantId)
      : new provider.Grant({ accountId: session.accountId, clientId })
    const { missingOIDCScope, missingResourceScopes = {} } = prompt.details
    if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '))
    for (const [resource, scopes] of Object.entries(missingResourceScopes))
      grant.addResourceScope(resource, scopes.join(' '))
    await finish({ consent: { grantId: await grant.save() } })
  }
}

/** Where the provider has them. */
const pathsOf: Readonly<Record<string, string>> = {
  token_endpoint: '/token',
  revocation_endpoint: '/token/revocation',
}

function configurationOf(options: ProviderOptions, jwk: object): object {
  const { resource, clients = [], documents = {} } = options
  const minute = 60
  return {
    clients,
    jwks: { keys: [jwk] },
    cookies: { keys: ['for tests'] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    scopes: ['openid', 'offline_access', 'read', 'write'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id }),
    }),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    fetch: async (url: URL | string) => {
      const document = documents[String(url)]
      return new Response(JSON.stringify(document ?? {}), {
        status: document ? 200 : 404,
        headers: { 'content-type': 'application/json' },
      })
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, asked: string) => {
          if (asked !== resource) throw new errors.InvalidTarget()
          return {
            ...{ scope: 'read write', audience: resource, accessTokenTTL: 5 * minute },
            ...{ accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } },
          }
        },
      },
    },
    ttl: {
      ...{ AccessToken: 5 * minute, ClientCredentials: 5 * minute, IdToken: 5 * minute },
      ...{ AuthorizationCode: minute, RefreshToken: 60 * minute, Grant: 60 * minute },
      ...{ Session: 60 * minute, Interaction: 10 * minute },
    },
  }
}
