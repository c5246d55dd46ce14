/** For tests: a worker, the part of a gateway that OAuth needs, an authorization server and an MCP server behind it. */
import { randomBytes } from 'node:crypto'
import { canonicalJson, type ErrorCode, idSource } from '@sallyport/protocol'
import {
  digestBytes,
  type Hello,
  type Listing,
  type OAuthBegun,
  type OAuthGranted,
  type OAuthIntent,
  type ResultHead,
  type SealedOAuthClient,
  sealOAuthClient,
} from '@sallyport/protocol/node'
import { MemorySource } from '../../apps/worker/src/testing/memory-source.ts'
import {
  type ConnectionOptions,
  type ScriptedGateway,
  type SealedConnection,
  sealForTest,
} from '../../apps/worker/src/testing/scripted-gateway.ts'
import type { ServerCertificate } from '../../apps/worker/src/testing/server-certificate.ts'
import { createVaultKey, WorkerUnderTest } from '../../apps/worker/src/testing/worker-under-test.ts'
import type { WorkerParts } from '../../apps/worker/src/worker.ts'
import { ProtectedServer, type ProtectedSwitches } from './protected-server.ts'
import { ScriptedAuthorizationServer, type Switches } from './scripted-authorization-server.ts'

const ids = idSource(Date.now, randomBytes)
export const redirectUri = 'http://127.0.0.1:7400/oauth/callback'
export const newState = (): string => randomBytes(32).toString('base64url')

export interface Told<T> {
  readonly head: Omit<ResultHead, 'intent'>
  readonly answer: T | undefined
  readonly code: ErrorCode | undefined
}

export interface WorldOptions {
  readonly server?: Partial<Switches>
  readonly resource?: Partial<ProtectedSwitches>
  readonly worker?: Partial<WorkerParts>
  readonly connection?: Partial<ConnectionOptions>
  readonly hello?: Partial<Hello>
  /** Of the MCP server, of the authorization server. */
  readonly tls?: { readonly mcp?: ServerCertificate; readonly server?: ServerCertificate }
}

export class OAuthWorld {
  worker: WorkerUnderTest
  gateway: ScriptedGateway
  readonly server: ScriptedAuthorizationServer
  readonly mcp: ProtectedServer
  /** Everything that left the worker, as text. */
  readonly told: string[] = []
  connection: SealedConnection
  readonly #parts: Partial<WorkerParts>
  readonly #digests = new Map<string, string>()

  /** Of the MCP server. */
  readonly url: string

  private constructor(
    parts: Pick<OAuthWorld, 'worker' | 'gateway' | 'server' | 'mcp'> & {
      readonly parts: Partial<WorkerParts>
    },
    more: Partial<ConnectionOptions>,
  ) {
    this.worker = parts.worker
    this.gateway = parts.gateway
    this.server = parts.server
    this.mcp = parts.mcp
    this.#parts = parts.parts
    this.url = more.url ?? this.mcp.url
    this.connection = sealForTest({ url: this.url, key: this.worker.key, ...more })
  }

  static async start(options: WorldOptions = {}): Promise<OAuthWorld> {
    const server = await ScriptedAuthorizationServer.start(options.server, options.tls?.server)
    const resource = {
      issuers: [server.issuer],
      lets: (token: string | undefined, resource: string) => server.accepts(token, resource),
      scopeOf: (token: string | undefined) => server.grants.scopeOf(token),
      ...options.resource,
    }
    const mcp = await ProtectedServer.start(resource, options.tls?.mcp)
    const ring = options.worker?.ring ?? new MemorySource(createVaultKey()).ring()
    const parts = { ...options.worker, ring }
    const worker = await new WorkerUnderTest(parts).start()
    const gateway = await worker.gateway(options.hello ? { hello: options.hello } : {})
    return new OAuthWorld({ worker, gateway, server, mcp, parts }, options.connection ?? {})
  }

  async stop(): Promise<void> {
    await this.worker.stop()
    await this.mcp.close()
    await this.server.close()
  }

  /** Another worker with the same keys, that knows nothing of before. */
  async restartWorker(): Promise<void> {
    await this.worker.stop()
    this.worker = await new WorkerUnderTest(this.#parts).start()
    this.gateway = await this.worker.gateway()
  }

  /** What a page would send. */
  request(changed: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      grant: 'authorization_code',
      state: newState(),
      redirectUri,
      registrations: [],
      freshRegistrationId: 'oac_fresh',
      freshCredentialId: ids('credential'),
      oauthScope: [],
      ...changed,
    }
  }

  begin(request: Record<string, unknown> = this.request()): Promise<Told<OAuthBegun>> {
    return this.act('oauth_begin', request)
  }

  finish(request: Record<string, unknown>): Promise<Told<OAuthGranted>> {
    return this.act('oauth_finish', request)
  }

  refresh(): Promise<Told<OAuthGranted>> {
    return this.act('oauth_refresh')
  }

  async act<T>(
    act: OAuthIntent['act'],
    request?: Record<string, unknown>,
    connection = this.connection,
  ): Promise<Told<T>> {
    const text = request === undefined ? '' : canonicalJson(request)
    const order = this.gateway.compose({
      connection,
      claims: {
        act,
        limits: undefined,
        ...(request === undefined ? {} : { argumentsDigest: digestBytes(text) }),
      },
    })
    const batch = this.gateway.sendIntents([order])
    this.gateway.sendBody(order, connection, Buffer.from(text))
    this.gateway.commit(batch)
    const { head, raw } = await this.gateway.result(order.id)
    const { intent, ...told } = head
    this.told.push(JSON.stringify(head), raw.toString())
    const answer = raw.length === 0 ? undefined : (JSON.parse(raw.toString()) as T)
    return { head: told, answer, code: head.code }
  }

  /** Begins, visits, and says what the browser brought back with what belongs to it. */
  async visit(request = this.request()): Promise<Record<string, unknown>> {
    const { answer, code } = await this.begin(request)
    if (!answer) throw new Error(`not begun: ${code}`)
    const brought = this.server.visit(answer.authorizeUrl)
    const { state, pending } = { state: request['state'], pending: answer.pending }
    const { code: authorizationCode, error, iss } = brought
    return JSON.parse(JSON.stringify({ state, pending, code: authorizationCode, error, iss }))
  }

  /** The whole way; the connection then uses what came of it. */
  async connect(request = this.request()): Promise<OAuthGranted> {
    const { answer, code } = await this.finish(await this.visit(request))
    if (!answer) throw new Error(`not granted: ${code}`)
    this.adopt(answer)
    return answer
  }

  /** Stores the credential as a gateway does. */
  adopt({ credentialId, credentialVersion, seal, clear }: OAuthGranted): void {
    const { claims, endpoint } = this.connection
    this.connection = {
      claims: {
        ...claims,
        credentialId,
        credentialVersion,
        credentialDigest: digestBytes(seal),
        credentialClear: clear,
      },
      endpoint,
      credential: seal,
    }
  }

  /** The tools, as a review lists them. */
  async list(): Promise<Told<Listing>> {
    const { head, raw } = await this.gateway.order({ connection: this.connection })
    const { intent, ...told } = head
    const answer = raw.length === 0 ? undefined : (JSON.parse(raw.toString()) as Listing)
    return { head: told, answer, code: head.code }
  }

  /** Lists first, and calls with what was listed now or before. */
  async call(tool: string, args: unknown = {}): Promise<ResultHead> {
    const { answer } = await this.list()
    for (const { name, digest } of answer?.tools ?? []) this.#digests.set(name, digest)
    const toolDigest = this.#digests.get(tool) ?? digestBytes('unlisted')
    const order = { connection: this.connection, tool, toolDigest, arguments: args }
    return (await this.gateway.order(order)).head
  }

  sealClient(
    client: Parameters<typeof sealOAuthClient>[0]['client'],
    bound: { readonly issuer?: string; readonly urls?: readonly string[] } = {},
  ): SealedOAuthClient {
    return sealOAuthClient({
      client,
      urls: bound.urls ?? [this.mcp.url],
      ...(bound.issuer === undefined ? {} : { issuer: bound.issuer }),
      id: 'oac_typed',
      version: 1,
      scope: 'org',
      key: this.worker.key,
      localAllowed: true,
    })
  }
}
