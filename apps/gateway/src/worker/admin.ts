/** What administration asks of the worker, over the link. */
import type { Connection, Credential, Order } from '@sallyport/core'
import { canonicalJson, type IdSource, SallyportError } from '@sallyport/protocol'
import {
  digestBytes,
  type Intent,
  type Listing,
  maxStartWithin,
  type VaultPublicKey,
} from '@sallyport/protocol/node'
import type { WorkerAdmin, WorkerInfo } from '../api/worker-admin.ts'
import type { DirectAnswer } from './direct-orders.ts'
import type { LinkState } from './link.ts'

/** The part of the link that is used here. */
interface AdminLink {
  instance(): string | undefined
  state(): LinkState
  order(order: Order, ms: number): Promise<DirectAnswer>
  release(connectionId: string): void
}

export interface LinkedAdminOptions {
  readonly link: AdminLink
  readonly ids: IdSource
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** When the first certificate ends. */
  readonly certificateExpiresAt: number
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

  release(connectionId: Connection['id']): void {
    this.#options.link.release(connectionId)
  }

  vaultKey(): VaultPublicKey {
    const vault = this.#options.link.state().hello?.vault
    if (!vault) throw new SallyportError('worker_down')
    return vault
  }

  info(): WorkerInfo {
    const { hello } = this.#options.link.state()
    return {
      state: hello ? 'up' : 'down',
      instance: hello?.instance ?? null,
      release: hello?.release ?? null,
      build: hello?.build ?? null,
      pid: hello?.pid ?? null,
      certificateExpiresAt: this.#options.certificateExpiresAt,
    }
  }

  #composeList(connection: Connection, credential: Credential | undefined): Order {
    const { link, ids, now } = this.#options
    const worker = link.instance()
    if (worker === undefined) throw new SallyportError('worker_down')
    if (connection.endpointSeal === null || connection.endpointClear === null)
      throw new SallyportError('transport_not_available')
    const id = ids('intent')
    const issuedAt = now()
    const intent: Intent = {
      v: 1,
      id,
      iat: issuedAt,
      exp: issuedAt + maxStartWithin,
      startWithin: maxStartWithin,
      aud: worker,
      act: 'list',
      connectionId: connection.id,
      connectionRevision: connection.revision,
      scope: connection.scope,
      endpointDigest: digestBytes(connection.endpointSeal),
      endpointClear: connection.endpointClear,
      ...(credential ? credentialClaims(credential) : {}),
      limits: { resultBytes: listBytes, callMs: listMs, verifyWithinMs: 0 },
    }
    const text = canonicalJson(intent)
    return {
      id,
      text,
      digest: digestBytes(text),
      endpointSeal: connection.endpointSeal,
      credentialSeal: credential?.seal,
      argumentsText: '',
    }
  }
}

function credentialClaims({ id, version, seal, clear }: Credential): Partial<Intent> {
  return {
    credentialId: id,
    credentialVersion: version,
    credentialDigest: digestBytes(seal),
    credentialClear: { bearer: clear.bearer, headerNames: [...clear.headerNames] },
  }
}

function listingOf({ head, raw }: DirectAnswer): Listing {
  if (head.code !== undefined) throw new SallyportError(head.code)
  if (head.verdict !== 'result') throw new SallyportError('not_sent')
  if (head.withheld === 'credential') throw new SallyportError('credential_in_result')
  if (head.withheld !== undefined) throw new SallyportError('upstream_too_large')
  return JSON.parse(raw.toString()) as Listing
}
