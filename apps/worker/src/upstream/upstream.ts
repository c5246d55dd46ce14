/** One upstream as one revision of a connection and one credential reach it: what was agreed, its tools, its streams. */
import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import type { Intent, Listing } from '@sallyport/protocol/node'
import type { Catalog, ListingSource } from '../catalog/catalog.ts'
import { listTools } from '../catalog/list-tools.ts'
import type { Clock } from '../clock.ts'
import type { Connections } from '../http/connections.ts'
import type { Claims, Sealed, Target } from '../vault/vault.ts'
import type { Channel } from './channel.ts'
import type { Contact } from './contact.ts'
import { endSession } from './end-session.ts'
import { negotiate } from './negotiate.ts'
import { StandingStream } from './standing-stream.ts'

export interface UpstreamOptions {
  readonly claims: Claims
  readonly sealed: Sealed
  readonly connections: Connections
  readonly catalog: Catalog
  readonly clock: Clock
  readonly open: (claims: Claims, sealed: Sealed) => Target
}

/** A server that spoke only the legacy era is asked again after this: it may have learned since. */
const legacyVerdictMs = 3_600_000
/** How long reads go on after the last good listing when the server cannot be asked. */
const readsGoOnMs = 3_600_000
/** A listing this close to its end is renewed beside the calls. */
const renewAt = 0.8
/** A server that announces changes without end is asked no more often; a call that needs the tools still asks at once. */
const renewEveryMs = 1_000

export class Upstream implements Channel, ListingSource {
  readonly connections: Connections
  readonly catalog: Catalog
  readonly clock: Clock
  /** On the monotonic clock. */
  usedAt: number
  readonly #open: UpstreamOptions['open']
  #claims: Claims
  #sealed: Sealed
  #contact: Contact | undefined
  #connecting: Promise<Contact> | undefined
  #legacySince: number | undefined
  #stream: StandingStream | undefined
  #inFlight = 0
  #isRetired = false
  #renewedAt = Number.NEGATIVE_INFINITY
  #cancelRenewal: (() => void) | undefined
  #whenIdle: (() => void) | undefined

  constructor(options: UpstreamOptions) {
    this.#claims = options.claims
    this.#sealed = options.sealed
    this.connections = options.connections
    this.catalog = options.catalog
    this.clock = options.clock
    this.#open = options.open
    this.usedAt = options.clock.monotonic()
  }

  get claims(): Claims {
    return this.#claims
  }

  target(): Target {
    return this.#open(this.#claims, this.#sealed)
  }

  /** From now on the same secrets come out of these seals. */
  sealedAgain(claims: Claims, sealed: Sealed): void {
    this.#claims = claims
    this.#sealed = sealed
  }

  isCurrent(): boolean {
    return !this.#isRetired
  }

  get isIdle(): boolean {
    return this.#inFlight === 0
  }

  /** Every call says when it begins and ends: what it uses is not taken away under it. */
  enter(): void {
    this.#inFlight++
  }

  leave(): void {
    this.#inFlight--
    this.usedAt = this.clock.monotonic()
    if (this.#inFlight === 0) this.#whenIdle?.()
  }

  /** What was agreed, agreeing first when nothing is. Rejects with an `upstream_*` code. */
  contact(): Contact | Promise<Contact> {
    if (this.#contact) return this.#contact
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** It turned out not to hold any more; the next call agrees anew. */
  forget(contact: Contact): void {
    if (this.#contact !== contact) return
    this.#contact = undefined
    this.#stream?.stop()
  }

  /** Fetches the tools. Rejects with SallyportError. */
  async list(): Promise<Listing> {
    const contact = await this.contact()
    try {
      return await listTools(this, contact)
    } catch (thrown) {
      const { code } = toSallyportError(thrown)
      // A modern server that refuses may speak another version by now; asking costs one request.
      const isOutdated = code === 'upstream_http_4xx' && contact.era === 'modern'
      if (code === 'upstream_session_lost' || isOutdated) this.forget(contact)
      if (code !== 'upstream_session_lost') throw thrown
      return await listTools(this, await this.contact())
    }
  }

  /** Makes sure that the tools are known well enough for a call. The answer says why not. */
  async verify(access: Intent['access'], withinMs: number): Promise<ErrorCode | undefined> {
    try {
      // Agreeing comes first: it may make the listing stale.
      if (!this.#contact) await this.contact()
      if (this.catalog.isFresh(withinMs)) {
        if (!this.catalog.isFresh(withinMs * renewAt)) this.#renew()
        return undefined
      }
      await this.catalog.refresh(this)
      return undefined
    } catch (thrown) {
      return this.#unverified(toSallyportError(thrown).code, access)
    }
  }

  /** Lets what is in flight end, then ends the session and closes the connections. */
  async retire(): Promise<void> {
    if (this.#isRetired) return
    this.#isRetired = true
    this.#stream?.stop()
    this.#cancelRenewal?.()
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    if (this.#contact) await endSession(this, this.#contact)
    this.connections.close()
  }

  async #connect(): Promise<Contact> {
    const now = this.clock.monotonic()
    const knownLegacy = this.#legacySince !== undefined && now - this.#legacySince < legacyVerdictMs
    const contact = await negotiate(this, knownLegacy)
    if (this.#isRetired) {
      await endSession(this, contact)
      throw new SallyportError('connection_changed')
    }
    this.#legacySince =
      contact.era === 'legacy' ? (knownLegacy ? this.#legacySince : now) : undefined
    this.#contact = contact
    this.catalog.markStale()
    this.#listen(contact)
    return contact
  }

  #listen(contact: Contact): void {
    this.#stream = undefined
    if (!contact.announcesTools) return
    this.#stream = new StandingStream(this, contact, {
      changed: () => {
        this.catalog.announceChange()
        this.#renewSoon()
      },
    })
    this.#stream.start()
  }

  #renewSoon(): void {
    const wait = this.#renewedAt + renewEveryMs - this.clock.monotonic()
    this.#cancelRenewal ??= this.clock.after(wait, () => {
      this.#cancelRenewal = undefined
      this.#renew()
    })
  }

  #renew(): void {
    if (this.#isRetired) return
    this.#renewedAt = this.clock.monotonic()
    this.catalog.refresh(this).catch(() => {})
  }

  #unverified(code: ErrorCode, access: Intent['access']): ErrorCode | undefined {
    if (this.catalog.age === Number.POSITIVE_INFINITY) return code
    if (access === 'read' && this.catalog.age <= readsGoOnMs) return undefined
    return 'catalog_unverified'
  }
}
