/** For tests: a whole Sallyport, an authorization server, and an MCP server behind it. The browser is played by hand. */
import { randomBytes } from 'node:crypto'
import { type Answer, idSource } from '@sallyport/protocol'
import { sealConnection } from '@sallyport/protocol/node'
import { grantTools, type OpenSession, publishTools } from '../harness/setup-connection.ts'
import { type Sallyport, type StartOptions, startSallyport } from '../harness/start-sallyport.ts'
import { eventually } from '../system/eventually.ts'
import { type CallAnswer, RawGuest } from '../system/raw-guest.ts'
import { type CredentialEvent, credentialEvents } from './credential-events.ts'
import { ProtectedServer } from './protected-server.ts'
import { ScriptedAuthorizationServer, type Switches } from './scripted-authorization-server.ts'
import { answer } from './scripted-faults.ts'

export const newIds = idSource(Date.now, randomBytes)

export interface Page {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

export type Flow = Answer<'connection.authorize'>

export class GatewayWorld {
  readonly sallyport: Sallyport
  readonly server: ScriptedAuthorizationServer
  readonly mcp: ProtectedServer

  private constructor(parts: Pick<GatewayWorld, 'sallyport' | 'server' | 'mcp'>) {
    this.sallyport = parts.sallyport
    this.server = parts.server
    this.mcp = parts.mcp
  }

  static async start(
    switches: Partial<Switches> = {},
    options: StartOptions = {},
  ): Promise<GatewayWorld> {
    const server = await ScriptedAuthorizationServer.start(switches)
    const mcp = await ProtectedServer.start({
      issuers: [server.issuer],
      lets: (token, resource) => server.accepts(token, resource),
      scopeOf: (token) => server.grants.scopeOf(token),
    })
    return new GatewayWorld({ sallyport: await startSallyport(options), server, mcp })
  }

  async stop(): Promise<void> {
    await this.sallyport.remove()
    await this.mcp.close()
    await this.server.close()
  }

  get api(): Sallyport['api'] {
    return this.sallyport.api
  }

  /** A draft that somebody has to sign in for. */
  async add(name: string): Promise<void> {
    const id = newIds('connection')
    const { endpoint } = sealConnection({
      url: this.mcp.url,
      headers: [],
      ...{
        connectionId: id,
        revision: 1,
        credentialId: newIds('credential'),
        credentialVersion: 1,
      },
      scope: 'org',
      key: await this.api('vault.show'),
      localAllowed: true,
    })
    const authentication = { method: 'oauth' } as const
    await this.api('connection.create', {}, { id, name, endpoint, authentication })
  }

  begin(name: string): Promise<Flow> {
    return this.api('connection.authorize', { name }, {})
  }

  /** What the browser brings back from the address. */
  visit({ authorizeUrl }: Flow): Record<string, string> {
    return this.server.visit(authorizeUrl ?? '')
  }

  async callback(brought: Readonly<Record<string, string>> | string): Promise<Page> {
    const query = typeof brought === 'string' ? brought : new URLSearchParams(brought).toString()
    const response = await fetch(`${this.sallyport.url}/oauth/callback?${query}`)
    return { status: response.status, text: await response.text(), headers: response.headers }
  }

  /** The whole way; what became of it. */
  async signIn(name: string): Promise<Flow> {
    const begun = await this.begin(name)
    await this.callback(this.visit(begun))
    return this.flow(begun)
  }

  flow({ connection, id }: Flow): Promise<Flow> {
    return this.api('connection.authorization', { name: connection, id })
  }

  /** Signs in, publishes, grants, and opens a session; `asks`: writes need a person. */
  async open(name: string, { asks = false } = {}): Promise<OpenSession> {
    await this.add(name)
    const flow = await this.signIn(name)
    if (flow.state !== 'done') throw new Error(`not signed in: ${flow.code}`)
    const tools = { read: ['counter_read'], write: ['counter_add'] }
    const spec = { name, url: this.mcp.url, ...tools, profile: name, unattended: !asks }
    await publishTools(this.sallyport, spec)
    await grantTools(this.sallyport, spec)
    return this.api('session.create', {}, { profile: name })
  }

  call(
    name: string,
    { token }: OpenSession,
    tool = 'counter_read',
    args = '{}',
    left?: AbortSignal,
  ): Promise<CallAnswer> {
    const endpoint = `${this.sallyport.guestUrl}/mcp/${name}`
    const guest = new RawGuest({ endpoint, token, era: 'modern', ...(left ? { left } : {}) })
    return guest.call(tool, args)
  }

  credentialEvents(): Promise<CredentialEvent[]> {
    return credentialEvents(this.api)
  }

  show(name: string): Promise<Answer<'connection.show'>> {
    return this.api('connection.show', { name })
  }

  /** The token endpoint is away until its faults are cleared; resolves when the token is over and was not renewed. */
  async expire(name: string): Promise<void> {
    this.server.fail('/token', answer(503), true)
    const { credential } = await this.show(name)
    // The renewal ahead of time comes up to a second after it, and that it failed is remembered for two.
    const over = Date.parse(credential?.oauth?.expiresAt ?? '') + 4_000
    await eventually(
      () => Date.now(),
      (now) => now > over,
      60_000,
    )
  }

  until(
    name: string,
    is: (connection: Answer<'connection.show'>) => boolean,
  ): Promise<Answer<'connection.show'>> {
    return eventually(() => this.show(name), is, 15_000)
  }
}
