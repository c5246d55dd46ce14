/** For tests: a gateway that sends what it is told to, right or wrong, and keeps what comes back. */
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { connect, type TLSSocket } from 'node:tls'
import { canonicalJson, destinationOf, idSource, parseEndpoint, release } from '@sallyport/protocol'
import {
  batchPayload,
  type Certified,
  certificateKid,
  digestBytes,
  encodeFrame,
  type Frame,
  type FrameKind,
  FrameReader,
  type Hello,
  type Intent,
  type ProgressHead,
  type RecoveredHead,
  type ResultHead,
  seal,
  signJws,
  type VaultPublicKey,
  type WebhookIntent,
  wireVersion,
} from '@sallyport/protocol/node'

const ids = idSource(Date.now, randomBytes)

export interface Answer {
  readonly head: ResultHead
  readonly raw: Buffer
}

/** A connection of the domain with its seals, as a gateway stores it. */
export interface SealedConnection {
  readonly claims: Pick<
    Intent,
    'connectionId' | 'connectionRevision' | 'scope' | 'endpointDigest' | 'endpointClear'
  > &
    Partial<Intent>
  readonly endpoint: string
  readonly credential: string | undefined
}

export interface ConnectionOptions {
  readonly url: string
  readonly token?: string
  readonly headers?: readonly { readonly name: string; readonly value: string }[]
  readonly connectionId?: string
  readonly revision?: number
  readonly credentialId?: string
  readonly credentialVersion?: number
  readonly scope?: string
  readonly destinations?: readonly string[]
  readonly key: VaultPublicKey
}

/** Seals without the checks of a well-behaved client. */
export function sealForTest(options: ConnectionOptions): SealedConnection {
  const { url, token, headers = [], key } = options
  const connectionId = options.connectionId ?? ids('connection')
  const connectionRevision = options.revision ?? 1
  const scope = options.scope ?? 'org'
  const { scheme, host, port } = parseEndpoint(url, true)
  const endpoint = seal(
    { url },
    { kind: 'endpoint', id: connectionId, scope, version: connectionRevision },
    key,
  )
  const claims = {
    connectionId,
    connectionRevision,
    scope,
    endpointDigest: digestBytes(endpoint),
    endpointClear: { scheme, host, port },
  }
  if (token === undefined && headers.length === 0)
    return { claims, endpoint, credential: undefined }
  const credentialId = options.credentialId ?? ids('credential')
  const credentialVersion = options.credentialVersion ?? 1
  const credential = seal(
    { token, headers, destinations: options.destinations ?? [destinationOf(url)] },
    { kind: 'credential', id: credentialId, scope, version: credentialVersion },
    key,
  )
  return {
    claims: {
      ...claims,
      credentialId,
      credentialVersion,
      credentialDigest: digestBytes(credential),
      credentialClear: {
        bearer: token !== undefined,
        headerNames: headers.map(({ name }) => name),
      },
    },
    endpoint,
    credential,
  }
}

const limits = { resultBytes: 1_000_000, callMs: 10_000, verifyWithinMs: 300_000 }

export interface OrderOptions {
  readonly connection: SealedConnection
  readonly tool?: string
  readonly toolDigest?: string
  readonly arguments?: unknown
  /** Claims to set or, with undefined, to leave out. */
  readonly claims?: Partial<Record<keyof Intent | keyof WebhookIntent, unknown>>
}

export interface Composed {
  readonly id: string
  readonly iat: number
  readonly aud: string
  readonly text: string
  readonly body: Buffer
}

export interface GatewayOptions {
  readonly address: { readonly path: string } | { readonly host: string; readonly port: number }
  readonly identity: Certified
  readonly authorityPem: string
  readonly hello?: Partial<Hello>
}

export class ScriptedGateway {
  readonly frames: Frame[] = []
  readonly #socket: TLSSocket
  readonly #identity: Certified
  readonly #reader = new FrameReader()
  readonly #watchers = new Set<() => void>()
  #isClosed = false

  private constructor(socket: TLSSocket, identity: Certified) {
    this.#socket = socket
    this.#identity = identity
    socket.on('data', (chunk: Buffer) => {
      this.frames.push(...this.#reader.push(chunk))
      this.#changed()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      this.#changed()
    })
  }

  /** Resolves when the worker has said hello. Rejects when it closes instead. */
  static async connect(options: GatewayOptions): Promise<ScriptedGateway> {
    const socket = connect({
      ...options.address,
      cert: options.identity.certificatePem,
      key: options.identity.privateKeyPem,
      ca: options.authorityPem,
      checkServerIdentity: () => undefined,
    })
    const gateway = new ScriptedGateway(socket, options.identity)
    socket.once('secureConnect', () => gateway.send('hello', helloOf(options.hello)))
    await gateway.until(() => gateway.frames.length > 0)
    return gateway
  }

  get hello(): Hello {
    return this.frames[0]?.head as Hello
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Rejects when the connection ends before. */
  async until(holds: () => boolean): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (holds()) resolve()
        else if (this.#isClosed) reject(new Error('the worker closed the connection'))
        else return
        this.#watchers.delete(look)
      }
      this.#watchers.add(look)
      look()
    })
  }

  async closed(): Promise<void> {
    await this.until(() => this.#isClosed)
  }

  send(kind: FrameKind, head: unknown, raw: Buffer = Buffer.alloc(0)): void {
    this.#socket.write(encodeFrame(kind, head, raw))
  }

  sendBytes(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  /** Reads no more. */
  pause(): void {
    this.#socket.pause()
  }

  cut(): void {
    this.#socket.destroy()
  }

  compose(options: OrderOptions): Composed {
    const now = Date.now()
    const body = options.tool === undefined ? '' : canonicalJson(options.arguments ?? {})
    const intent = {
      v: 1,
      id: ids('intent'),
      iat: now,
      exp: now + 15_000,
      startWithin: 15_000,
      aud: this.hello.instance,
      act: options.tool === undefined ? 'list' : 'call',
      ...(options.tool === undefined
        ? {}
        : {
            tool: options.tool,
            toolDigest: options.toolDigest,
            access: 'read',
            executionId: ids('execution'),
            argumentsDigest: digestBytes(body),
          }),
      ...options.connection.claims,
      limits,
      ...options.claims,
    }
    const { id, iat, aud } = intent as Intent
    return { id, iat, aud, text: canonicalJson(intent), body: Buffer.from(body) }
  }

  /** Sends the intents, signed; the answer names the batch. */
  sendIntents(orders: readonly Composed[], signer: Certified = this.#identity): string {
    const payload = batchPayload(orders.map(({ text }) => digestBytes(text)))
    const { publicKey } = new X509Certificate(signer.certificatePem)
    const key = createPrivateKey(signer.privateKeyPem)
    const batch = digestBytes(payload)
    const jws = signJws(payload, certificateKid(publicKey), key)
    const texts = Buffer.from(orders.map(({ text }) => text).join('\n'))
    this.send('intents', { batch, jws }, texts)
    return batch
  }

  sendBody(order: Composed, connection: SealedConnection, raw: Buffer = order.body): void {
    const { endpoint, credential } = connection
    this.send('body', { intent: order.id, endpoint, ...(credential ? { credential } : {}) }, raw)
  }

  commit(batch: string, admitted: readonly number[] = [0]): void {
    this.send('committed', { batch, admitted })
  }

  /** One order, sent and committed. */
  submit(options: OrderOptions): Composed {
    const order = this.compose(options)
    const batch = this.sendIntents([order])
    this.sendBody(order, options.connection)
    this.commit(batch)
    return order
  }

  async order(options: OrderOptions): Promise<Answer> {
    return await this.result(this.submit(options).id)
  }

  /** An order about the vault: what it is about is told in claims, and travels as raw bytes. */
  composeTend(act: string, text = '', claims: Record<string, unknown> = {}): Composed {
    const iat = Date.now()
    const body = Buffer.from(text)
    const intent = {
      ...{ v: 1, id: ids('intent'), iat, exp: iat + 15_000, startWithin: 15_000 },
      aud: this.hello.instance,
      act,
      ...(act === 'reseal' ? { argumentsDigest: digestBytes(body) } : {}),
      ...claims,
    }
    const { id, aud } = intent
    return { id, iat, aud, text: canonicalJson(intent), body }
  }

  async tend(act: string, text?: string, claims?: Record<string, unknown>): Promise<Answer> {
    const order = this.composeTend(act, text, claims)
    const batch = this.sendIntents([order])
    this.send('body', { intent: order.id }, order.body)
    this.commit(batch)
    return await this.result(order.id)
  }

  async result(id: string): Promise<Answer> {
    await this.until(() => this.#results(id).length > 0)
    const [frame] = this.#results(id)
    return { head: frame?.head as ResultHead, raw: frame?.raw as Buffer }
  }

  progress(id: string): ProgressHead[] {
    const heads = this.of('progress').map(({ head }) => head as ProgressHead)
    return heads.filter(({ intent }) => intent === id)
  }

  /** The newest answer to the question what became of an order. */
  async recover(
    order: Pick<Composed, 'id' | 'iat' | 'aud'>,
  ): Promise<{ readonly head: RecoveredHead; readonly raw: Buffer }> {
    const before = this.of('recovered').length
    const { id, iat, aud } = order
    this.send('recover', { intents: [{ id, iat, aud }] })
    await this.until(() => this.of('recovered').length > before)
    const frame = this.of('recovered').at(-1)
    return { head: frame?.head as RecoveredHead, raw: frame?.raw as Buffer }
  }

  of(kind: FrameKind): Frame[] {
    return this.frames.filter((frame) => frame.kind === kind)
  }

  #results(id: string): Frame[] {
    return this.of('result').filter(({ head }) => (head as ResultHead).intent === id)
  }

  #changed(): void {
    for (const look of [...this.#watchers]) look()
  }
}

function helloOf(changed: Partial<Hello> = {}): Hello {
  return {
    wire: wireVersion,
    release,
    build: 'test',
    role: 'gateway',
    instance: ids('instance'),
    now: Date.now(),
    pid: process.pid,
    ...changed,
  }
}
