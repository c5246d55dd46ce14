/** What administration asks of the worker, over the link. */
import type { Connection, Credential, Order } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import {
  digestBytes,
  type Intent,
  judgeWalls,
  type Listing,
  maxStartWithin,
  type ProcessWalls,
  type ResultHead,
  readProcessWalls,
  type WebhookIntent,
  webhookBytes,
  webhookMs,
} from '@sallyport/protocol/node'
import type {
  WebhookToSend,
  WorkerAdmin,
  WorkerInfo,
  WorkerIsolation,
} from '../api/worker-admin.ts'
import type { DirectAnswer } from './direct-orders.ts'
import type { LinkState } from './link.ts'
import { credentialClaims, type OrderClaimsDeps, orderClaims, orderOf } from './order-claims.ts'

/** The part of the link that is used here. */
interface AdminLink {
  instance(): string | undefined
  state(): LinkState
  order(order: Order, ms: number): Promise<DirectAnswer>
  release(connectionId: string): void
}

export interface SupervisedWorker {
  readonly instance: string
  /** As this process counts. */
  readonly pid: number
  readonly unisolatedBecause: readonly string[]
}

export interface LinkedAdminOptions extends OrderClaimsDeps {
  readonly link: AdminLink
  /** The worker that this gateway started, when there is one. */
  readonly supervised: () => SupervisedWorker | null
  /** When the first certificate ends. */
  readonly certificateExpiresAt: () => number
}

const listMs = 30_000
const listBytes = 8 * 1024 * 1024
/** For the way there and back, beside what the worker itself may take. */
const slackMs = 5_000

export class LinkedWorkerAdmin implements WorkerAdmin {
  readonly #options: LinkedAdminOptions
  /** Under way, by what they are asked with: whoever asks the same meanwhile joins. */
  readonly #listings = new Map<string, Promise<Listing>>()

  constructor(options: LinkedAdminOptions) {
    this.#options = options
  }

  /** One at a time for a connection: the orders of the worker are limited, and calls need them. */
  list(connection: Connection, credential: Credential | undefined): Promise<Listing> {
    const key = [connection.id, connection.revision, credential?.id, credential?.version].join(' ')
    const known = this.#listings.get(key)
    if (known !== undefined) return known
    const listing = this.#list(connection, credential).finally(() => this.#listings.delete(key))
    this.#listings.set(key, listing)
    return listing
  }

  async #list(connection: Connection, credential: Credential | undefined): Promise<Listing> {
    const order = this.#composeList(connection, credential)
    const answer = await this.#options.link.order(order, maxStartWithin + listMs + slackMs)
    return listingOf(answer)
  }

  async sendWebhook(webhook: WebhookToSend): Promise<ResultHead> {
    if (Buffer.byteLength(webhook.body) > webhookBytes) throw new SallyportError('too_large')
    const order = this.#composeWebhook(webhook)
    const answer = await this.#options.link.order(order, maxStartWithin + webhookMs + slackMs)
    return answer.head
  }

  release(connectionId: Connection['id']): void {
    this.#options.link.release(connectionId)
  }

  info(): WorkerInfo {
    const { hello } = this.#options.link.state()
    const supervised = this.#options.supervised()
    const own = supervised?.instance === hello?.instance ? supervised : null
    return {
      state: hello ? 'up' : 'down',
      instance: hello?.instance ?? null,
      release: hello?.release ?? null,
      build: hello?.build ?? null,
      pid: own?.pid ?? hello?.pid ?? null,
      coreDumps: hello?.coreDumps ?? null,
      isolation: hello?.walls ? isolationOf(hello.walls, own?.unisolatedBecause ?? []) : null,
      certificateExpiresAt: this.#options.certificateExpiresAt(),
    }
  }

  #composeList(connection: Connection, credential: Credential | undefined): Order {
    const { endpointSeal, endpointClear } = connection
    const claims = orderClaims(this.#options)
    if (endpointSeal === null || endpointClear === null)
      throw new SallyportError('transport_not_available')
    const intent: Intent = {
      ...claims,
      act: 'list',
      connectionId: connection.id,
      connectionRevision: connection.revision,
      scope: connection.scope,
      endpointDigest: digestBytes(endpointSeal),
      endpointClear,
      ...(credential ? credentialClaims(credential) : {}),
      limits: { resultBytes: listBytes, callMs: listMs, verifyWithinMs: 0 },
    }
    return orderOf(intent, endpointSeal, credential?.seal, '')
  }

  #composeWebhook({ webhookId, version, scope, seal, clear, eventId, body }: WebhookToSend): Order {
    const intent: WebhookIntent = {
      ...orderClaims(this.#options),
      act: 'webhook',
      webhookId,
      webhookVersion: version,
      scope,
      endpointDigest: digestBytes(seal),
      endpointClear: clear,
      eventId,
      argumentsDigest: digestBytes(body),
    }
    return orderOf(intent, seal, undefined, body)
  }
}

function isolationOf(walls: ProcessWalls, because: readonly string[]): WorkerIsolation {
  return { layers: judgeWalls(walls, readProcessWalls()), because }
}

function listingOf({ head, raw }: DirectAnswer): Listing {
  if (head.code !== undefined) throw new SallyportError(head.code)
  if (head.verdict !== 'result') throw new SallyportError('not_sent')
  if (head.withheld === 'credential') throw new SallyportError('credential_in_result')
  if (head.withheld !== undefined) throw new SallyportError('upstream_too_large')
  return JSON.parse(raw.toString()) as Listing
}
