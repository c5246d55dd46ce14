/** What a gateway says to a worker, made at random: orders that are committed, taken back or left alone, and questions. */
import { createPrivateKey, type KeyObject, randomBytes, X509Certificate } from 'node:crypto'
import { canonicalJson, idSource, release } from '@sallyport/protocol'
import {
  batchPayload,
  type Certified,
  certificateKid,
  digestBytes,
  signJws,
  wireVersion,
} from '@sallyport/protocol/node'
import type { SealedConnection } from '../../apps/worker/src/testing/scripted-gateway.ts'
import type { Random } from '../system/random.ts'
import type { Said } from './hostile-frames.ts'

const ids = idSource(Date.now, randomBytes)
const none = Buffer.alloc(0)
const limits = { resultBytes: 1_000_000, callMs: 5_000, verifyWithinMs: 3_600_000 }

export interface RowOptions {
  readonly random: Random
  readonly identity: Certified
  readonly connection: SealedConnection
  readonly toolDigest: string
  /** The worker's instance. */
  readonly audience: string
}

export interface Row {
  readonly said: readonly Said[]
  /** Intent → what only its answer may say. */
  readonly nonces: ReadonlyMap<string, string>
  /** Those of orders that nobody committed: no server may hear of them. */
  readonly forbidden: readonly string[]
  /** Words that are right at other places. None of them lets an order go that nobody committed. */
  readonly pool: readonly unknown[]
}

export const nonceForm = /nonce-[0-9a-f]{24}/g

export function helloSaid(): Said {
  const now = Date.now()
  const head = {
    ...{ wire: wireVersion, release, build: 'test', role: 'gateway', instance: ids('instance') },
    ...{ now, pid: process.pid, ownListeners: [{ host: '127.0.0.1', port: 1 }] },
  }
  return { kind: 'hello', head, raw: none }
}

export class Signer {
  readonly #kid: string
  readonly #key: KeyObject

  constructor({ certificatePem, privateKeyPem }: Certified) {
    this.#kid = certificateKid(new X509Certificate(certificatePem).publicKey)
    this.#key = createPrivateKey(privateKeyPem)
  }

  sign(payload: string): string {
    return signJws(payload, this.#kid, this.#key)
  }
}

interface Ordered {
  readonly id: string
  readonly iat: number
  readonly text: string
  readonly nonce: string
  readonly body: Buffer
}

export function composeRow(options: RowOptions, signer: Signer): Row {
  const { random, connection, audience } = options
  const said: Said[] = []
  const nonces = new Map<string, string>()
  const forbidden: string[] = []
  const pool: unknown[] = [audience, connection.claims.connectionId]
  for (let batches = 1 + random.below(2); batches > 0; batches--) {
    const orders = Array.from({ length: 1 + random.below(3) }, () => composeOrder(options))
    for (const { id, nonce } of orders) nonces.set(id, nonce)
    const { frames, batch } = composeBatch(orders, connection, signer)
    said.push(...frames)
    const end = random.below(4)
    if (end <= 1) {
      const admitted = orders.map((_, position) => position)
      said.push({ kind: 'committed', head: { batch, admitted }, raw: none })
      pool.push(batch, ...orders.map(({ id }) => id))
    } else forbidden.push(...orders.map(({ nonce }) => nonce))
    if (end === 2) said.push({ kind: 'abort', head: { batch }, raw: none })
    said.push(...asides(options, orders))
  }
  return { said, nonces, forbidden, pool }
}

function composeOrder({ connection, toolDigest, audience }: RowOptions): Ordered {
  const nonce = `nonce-${randomBytes(12).toString('hex')}`
  const body = canonicalJson({ nonce })
  const iat = Date.now()
  const id = ids('intent')
  const intent = {
    ...{ v: 1, id, iat, exp: iat + 15_000, startWithin: 15_000, aud: audience, act: 'call' },
    ...{ tool: 'echo', toolDigest, access: 'read', executionId: ids('execution') },
    argumentsDigest: digestBytes(body),
    ...connection.claims,
    limits,
  }
  return { id, iat, text: canonicalJson(intent), nonce, body: Buffer.from(body) }
}

function composeBatch(
  orders: readonly Ordered[],
  { endpoint, credential }: SealedConnection,
  signer: Signer,
): { readonly frames: Said[]; readonly batch: string } {
  const payload = batchPayload(orders.map(({ text }) => digestBytes(text)))
  const batch = digestBytes(payload)
  const raw = Buffer.from(orders.map(({ text }) => text).join('\n'))
  return {
    batch,
    frames: [
      { kind: 'intents', head: { batch, jws: signer.sign(payload) }, raw },
      ...orders.map(
        ({ id, body }): Said => ({
          kind: 'body',
          head: { intent: id, endpoint, ...(credential ? { credential } : {}) },
          raw: body,
        }),
      ),
    ],
  }
}

/** What may be said of an order at any time. */
function asides({ random, audience }: RowOptions, orders: readonly Ordered[]): Said[] {
  const { id, iat } = random.pick(orders)
  const every: Said[] = [
    { kind: 'cancel', head: { intent: id }, raw: none },
    { kind: 'settled', head: { intents: [id] }, raw: none },
    { kind: 'recover', head: { intents: [{ id, iat, aud: audience }] }, raw: none },
    { kind: 'ping', head: { n: random.below(1_000) }, raw: none },
    { kind: 'pong', head: { n: 1 }, raw: none },
  ]
  return every.filter(() => random.below(4) === 0)
}
