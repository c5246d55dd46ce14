/** The upstreams in use, one a connection: the newest revision and credential that an intent has named. */
import { SallyportError } from '@sallyport/protocol'
import type { ObservedHead } from '@sallyport/protocol/node'
import { Catalog } from '../catalog/catalog.ts'
import type { Clock } from '../clock.ts'
import type { Dialer } from '../dialer/dialer.ts'
import { Connections } from '../http/connections.ts'
import type { Claims, Sealed, Target, Vault } from '../vault/vault.ts'
import { Upstream } from './upstream.ts'

export interface UpstreamsOptions {
  readonly vault: Vault
  readonly dialer: Dialer
  readonly clock: Clock
  /** A listing was accepted. */
  readonly observed: (head: ObservedHead) => void
}

const idleMs = 600_000

export class Upstreams {
  readonly #options: UpstreamsOptions
  readonly #current = new Map<string, Upstream>()
  readonly #retiring = new Set<Promise<void>>()

  constructor(options: UpstreamsOptions) {
    this.#options = options
  }

  /**
   * The upstream these claims name. A newer revision or credential replaces the one in use; an older one is refused
   * with `connection_changed`. The caller has opened the seals: a broken one replaces nothing.
   */
  obtain(claims: Claims, sealed: Sealed, target: Target): Upstream {
    const current = this.#current.get(claims.connectionId)
    if (current && isSame(current.claims, claims)) return current
    if (current && isSealedAgain(current, claims, target)) {
      current.sealedAgain(claimsOf(claims), sealed)
      return current
    }
    const upstream = this.create(claims, sealed, target)
    this.use(upstream)
    return upstream
  }

  /** One that is not in use yet. Throws `connection_changed` when a newer one is. */
  create(claims: Claims, sealed: Sealed, target: Target): Upstream {
    const { vault, dialer, clock } = this.#options
    const current = this.#newestUnless(claims)
    const isSameRevision = current?.claims.connectionRevision === claims.connectionRevision
    return new Upstream({
      claims: claimsOf(claims),
      sealed,
      clock,
      connections: new Connections({
        origin: target.endpoint,
        subject: claims.connectionId,
        dialer,
        clock,
      }),
      catalog: current && isSameRevision ? current.catalog : this.#catalog(claims),
      open: (own, seals) => vault.open(own, seals),
    })
  }

  /** From now on this is the one in use; the one before it ends when its calls have. Throws as `create`. */
  use(upstream: Upstream): void {
    const { connectionId } = upstream.claims
    const previous = this.#newestUnless(upstream.claims)
    this.#current.set(connectionId, upstream)
    if (previous && previous !== upstream) this.retire(previous)
  }

  isInUse(upstream: Upstream): boolean {
    return this.#current.get(upstream.claims.connectionId) === upstream
  }

  retire(upstream: Upstream): void {
    const retiring = upstream.retire()
    this.#retiring.add(retiring)
    void retiring.finally(() => this.#retiring.delete(retiring))
  }

  /** The connection is no longer needed. Resolves when its session has ended. */
  async release(connectionId: string): Promise<void> {
    const upstream = this.#current.get(connectionId)
    this.#current.delete(connectionId)
    await upstream?.retire()
    this.#options.vault.release(connectionId)
  }

  /** Ends what was not used for a while. Called every few seconds. */
  sweep(): void {
    const oldest = this.#options.clock.monotonic() - idleMs
    for (const [connectionId, upstream] of this.#current) {
      if (!upstream.isIdle || upstream.usedAt > oldest) continue
      this.#current.delete(connectionId)
      this.retire(upstream)
    }
  }

  /** Ends everything. Resolves when every session has ended. */
  async close(): Promise<void> {
    for (const upstream of this.#current.values()) this.retire(upstream)
    this.#current.clear()
    await Promise.all(this.#retiring)
  }

  #newestUnless(claims: Claims): Upstream | undefined {
    const current = this.#current.get(claims.connectionId)
    if (current && isOlder(claims, current.claims)) throw new SallyportError('connection_changed')
    return current
  }

  #catalog({ connectionId, connectionRevision }: Claims): Catalog {
    const { clock, observed } = this.#options
    return new Catalog({
      monotonic: clock.monotonic,
      accepted: ({ digest, tools }) =>
        observed({
          connectionId,
          connectionRevision,
          digest,
          at: clock.now(),
          tools: Object.fromEntries(tools.map((tool) => [tool.name, tool.digest])),
        }),
    })
  }
}

function isSame(one: Claims, other: Claims): boolean {
  return (
    one.connectionRevision === other.connectionRevision &&
    one.endpointDigest === other.endpointDigest &&
    one.credentialDigest === other.credentialDigest
  )
}

/** The same secrets of the same rows, sealed to another key of the vault: there is no reason to begin anew. */
function isSealedAgain(current: Upstream, claims: Claims, { endpoint, headers }: Target): boolean {
  const isSameRows =
    current.claims.connectionRevision === claims.connectionRevision &&
    current.claims.credentialId === claims.credentialId &&
    current.claims.credentialVersion === claims.credentialVersion
  if (!isSameRows) return false
  try {
    const target = current.target()
    const isSameHeaders = JSON.stringify(target.headers) === JSON.stringify(headers)
    return target.endpoint.url === endpoint.url && isSameHeaders
  } catch {
    // What it was made with does not open any more; the new seals did.
    return false
  }
}

function isOlder(claims: Claims, current: Claims): boolean {
  if (claims.connectionRevision !== current.connectionRevision)
    return claims.connectionRevision < current.connectionRevision
  const isSameCredential = claims.credentialId === current.credentialId
  return isSameCredential && (claims.credentialVersion ?? 0) < (current.credentialVersion ?? 0)
}

/** Of an intent only what names the upstream is kept. */
function claimsOf(claims: Claims): Claims {
  const { connectionId, connectionRevision, scope, endpointDigest, endpointClear } = claims
  const { credentialId, credentialVersion, credentialDigest, credentialClear } = claims
  return {
    connectionId,
    connectionRevision,
    scope,
    endpointDigest,
    endpointClear,
    credentialId,
    credentialVersion,
    credentialDigest,
    credentialClear,
  }
}
