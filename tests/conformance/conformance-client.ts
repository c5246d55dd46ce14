/** The gateway's part for the conformance suite: a connection, the credential it has now, and what signing in needs. */
import { paramHeaders } from '@sallyport/core'
import {
  digestBytes,
  type ListedTool,
  type OAuthBegun,
  type OAuthGranted,
  type ResultHead,
  type SealedOAuthClient,
} from '@sallyport/protocol/node'
import { OAuthWorld, redirectUri } from '../oauth/oauth-world.ts'

export interface Context {
  readonly client_id?: string
  readonly client_secret?: string
  readonly private_key_pem?: string
  readonly issuer?: string
}

export interface ToolToCall {
  readonly name: string
  readonly arguments: unknown
}

/** The suite expects this one of every client. */
const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json'
/** Consents in a row for one request; a person would not go on. */
const patience = 2

export class ConformanceClient {
  readonly #world: OAuthWorld
  readonly #context: Context
  readonly #registrations: SealedOAuthClient[] = []
  #tools: readonly ListedTool[] = []
  #issuer: string | undefined
  #scope: string[] = []

  private constructor(world: OAuthWorld, context: Context) {
    this.#world = world
    this.#context = context
  }

  static async start(url: string, context: Context): Promise<ConformanceClient> {
    return new ConformanceClient(await OAuthWorld.start({ connection: { url } }), context)
  }

  stop(): Promise<void> {
    return this.#world.stop()
  }

  /** Throws when the server cannot be listed. */
  async list(): Promise<readonly ListedTool[]> {
    for (let consents = 0; ; consents++) {
      const { answer, code } = await this.#world.list()
      if (answer) {
        // As a review does: a tool that cannot be called over HTTP is not included.
        this.#tools = answer.tools.filter(({ inputSchema }) => paramHeaders(inputSchema).ok)
        return this.#tools
      }
      if (code !== 'upstream_http_401' || consents === patience) throw new Error(`list: ${code}`)
      await this.#connect()
    }
  }

  async call({ name, arguments: args }: ToolToCall): Promise<ResultHead> {
    for (let consents = 0; ; consents++) {
      const head = await this.#order(name, args)
      const wants = head.code === 'upstream_unauthorized' || head.requiredScope !== undefined
      if (!wants || consents === patience) return head
      this.#scope.push(...(head.requiredScope?.split(' ') ?? []))
      await this.#connect()
    }
  }

  async connectAsClient(): Promise<void> {
    const request = {
      grant: 'client_credentials',
      client: this.#client(),
      freshCredentialId: 'crd_client',
      oauthScope: [],
    }
    const { answer, code } = await this.#world.act<OAuthGranted>('oauth_begin', request)
    if (!answer) throw new Error(`client credentials: ${code}`)
    this.#world.adopt(answer)
  }

  async #order(tool: string, args: unknown): Promise<ResultHead> {
    const { gateway, connection } = this.#world
    const listed = this.#tools.find(({ name }) => name === tool)
    const mirrored = paramHeaders(listed?.inputSchema)
    const claims = mirrored.ok ? { paramHeaders: mirrored.headers } : {}
    const toolDigest = listed?.digest ?? digestBytes('unlisted')
    const order = { connection, tool, toolDigest, arguments: args, claims }
    return (await gateway.order(order)).head
  }

  async #connect(): Promise<void> {
    const request = this.#request()
    const begun = await this.#begin(request)
    this.#issuer = begun.issuer
    this.#scope.push(...(begun.oauthScope?.split(' ') ?? []))
    if (begun.registration) this.#registrations.push(begun.registration)
    const brought = await visit(begun.authorizeUrl)
    const { answer, code } = await this.#world.finish({
      state: request['state'],
      pending: begun.pending,
      ...brought,
    })
    if (!answer) throw new Error(`finish: ${code}`)
    this.#world.adopt(answer)
  }

  async #begin(request: Record<string, unknown>): Promise<OAuthBegun> {
    const told = await this.#world.begin(request)
    if (told.answer) return told.answer
    if (told.code !== 'oauth_issuer_changed') throw new Error(`begin: ${told.code}`)
    // A person who agrees to the new one: neither the credential nor its client goes there.
    const { expectedIssuer, ...agreed } = request
    const { answer, code } = await this.#world.begin(agreed)
    if (!answer) throw new Error(`begin again: ${code}`)
    return answer
  }

  #request(): Record<string, unknown> {
    const client = this.#context.client_id === undefined ? {} : { client: this.#client() }
    const expected = this.#issuer === undefined ? {} : { expectedIssuer: this.#issuer }
    return this.#world.request({
      clientMetadataUrl,
      registrations: this.#registrations,
      oauthScope: [...new Set(this.#scope)],
      ...client,
      ...expected,
    })
  }

  #client(): SealedOAuthClient {
    const { client_id: clientId = '', client_secret: clientSecret } = this.#context
    const { private_key_pem: privateKeyPem, issuer } = this.#context
    return this.#world.sealClient(
      {
        clientId,
        ...(clientSecret === undefined ? {} : { clientSecret }),
        ...(privateKeyPem === undefined ? {} : { privateKeyPem }),
      },
      {
        urls: [this.#world.url],
        ...(issuer === undefined ? {} : { issuer }),
      },
    )
  }
}

/** The browser: it is sent back at once. */
async function visit(authorizeUrl: string): Promise<Record<string, string>> {
  const response = await fetch(authorizeUrl, { redirect: 'manual' })
  const location = response.headers.get('location') ?? ''
  if (!location.startsWith(redirectUri)) throw new Error('the browser is not sent back')
  const { searchParams } = new URL(location)
  const said = ['code', 'error', 'iss'].map((name) => [name, searchParams.get(name)] as const)
  return Object.fromEntries(said.filter(([, value]) => value !== null)) as Record<string, string>
}
