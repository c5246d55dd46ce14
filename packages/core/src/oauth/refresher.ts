/**
 * Keeps access tokens good: one refresh of a credential at a time, in this process by a promise, between gateways by a
 * lease that names the order. What comes of it is published over the version that was refreshed and nothing else.
 */
import type { CredentialId, ErrorCode, InstanceId } from '@sallyport/protocol'
import { maxStartWithin, oauthMs } from '@sallyport/protocol/node'
import type { Credential } from '../credential/credential.ts'
import type { Journal } from '../journal/journal.ts'
import type { Store } from '../store.ts'
import { oauthTarget } from './begin-sign-in.ts'
import { type LeftLease, leftLeases } from './left-leases.ts'
import type { RefreshLease } from './oauth.ts'
import type { OAuthWorker } from './oauth-worker.ts'
import { noteUnclear, publishRefresh, type Refresh, type Refreshed } from './publish-refresh.ts'
import { refreshAt } from './refresh-time.ts'

export interface RefresherDeps {
  readonly store: Store
  readonly journal: Pick<Journal, 'transact'>
  readonly oauth: OAuthWorker
  readonly instance: InstanceId
  /** ms since 1970, of this machine as the worker's. */
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
  readonly report: (error: unknown, where: string) => void
}

interface Taken {
  readonly credential: Credential
  readonly lease: RefreshLease
}

/** What became of a refresh that was left. `waits`: its order may still go on; `forgotten`: nothing, and the lease is free. */
type Found = Refreshed | 'waits' | 'forgotten'

/** An order that was sent may go on for so long, whoever sent it. */
const leaseMs = maxStartWithin + oauthMs + 5_000
const leaseLookMs = 250
/** After a failure that may pass. */
const againMs = 30_000
/** A call is refused for so long after such a failure, instead of asking anew for each. */
const refuseMs = 2_000
const atOnce = 8
/** A server that never takes our token is not asked for another with every call. */
const rejectedEveryMs = 60_000

export class Refresher {
  readonly #deps: RefresherDeps
  readonly #running = new Map<CredentialId, Promise<Refreshed>>()
  readonly #rejecting = new Map<CredentialId, Promise<Refreshed>>()
  readonly #failedAt = new Map<CredentialId, number>()
  readonly #rejectedAt = new Map<CredentialId, number>()

  constructor(deps: RefresherDeps) {
    this.#deps = deps
  }

  /** Refreshes this version unless a newer one is there. Rejects when the store fails. */
  refresh({ id, version }: Pick<Credential, 'id' | 'version'>): Promise<Refreshed> {
    return once(this.#running, id, () => this.#refresh(id, version))
  }

  /**
   * May a call use it now? `soon`: it is being refreshed, ask again. Otherwise why not. Looks at nothing but what it is
   * given and what goes on here, since barriers ask.
   */
  readonly readiness = ({ id, version, clear }: Credential): 'ready' | 'soon' | ErrorCode => {
    const { now, report } = this.#deps
    if (this.#rejecting.has(id)) return 'soon'
    const { expiresAt, refreshable } = clear.oauth ?? {}
    if (expiresAt === undefined || expiresAt > now()) return 'ready'
    if (!refreshable) return 'credential_expired'
    if (this.#hasFailedWithin(refuseMs, id)) return 'oauth_unavailable'
    this.refresh({ id, version }).catch((error) => {
      this.#failedAt.set(id, now())
      report(error, 'refresh')
    })
    return 'soon'
  }

  /**
   * The server did not take the token of a call that arrived at `since`: it may be over before its time. Calls that come
   * meanwhile wait for the new one. `renewed` also where there is one already.
   */
  rejected(id: CredentialId, since: number): Promise<Refreshed> {
    return once(this.#rejecting, id, async () => {
      const { now, store } = this.#deps
      const credential = await store.credentials.get(id)
      if (!credential?.clear.oauth?.refreshable || credential.state !== 'active') return 'unusable'
      if (credential.updatedAt > since) return 'renewed'
      if (now() - (this.#rejectedAt.get(id) ?? 0) < rejectedEveryMs) return 'unusable'
      if (this.#hasFailedWithin(refuseMs, id)) return 'transient'
      const refreshed = await this.refresh(credential)
      if (refreshed !== 'transient') this.#rejectedAt.set(id, now())
      return refreshed
    })
  }

  /** Finds out what became of refreshes that were left, and refreshes what will be over before long. */
  async sweep(): Promise<void> {
    await this.#recoverLeft()
    const { store, now } = this.#deps
    const due: Credential[] = []
    const connections = await store.connections.getMany(
      (await store.oauth.connections()).map(({ connectionId }) => connectionId),
    )
    for (const { credentialId } of connections) {
      if (credentialId === null) continue
      const credential = await store.credentials.get(credentialId)
      if (!credential || this.#hasFailedWithin(againMs, credentialId)) continue
      if ((refreshAt(credential) ?? Number.POSITIVE_INFINITY) <= now()) due.push(credential)
    }
    await Promise.all(due.slice(0, atOnce).map((credential) => this.refresh(credential)))
  }

  async #refresh(id: CredentialId, version: number): Promise<Refreshed> {
    const { now, pause, store, instance } = this.#deps
    const until = now() + leaseMs
    while (now() < until) {
      const lease = this.#leaseOn(id, version)
      if (!lease) return this.#failed(id)
      // Rather than to wait until it is over: what it brought may be there, and nobody else would look before.
      const [left] = await leftLeases(store, instance, (one) => one !== id)
      const found = left && (await this.#found(left))
      // What became of a refresh of another version says nothing of this one.
      if (isAnswer(found) && left?.lease.credentialVersion === version) return found
      const taken = await this.#take(lease)
      if (taken === 'renewed' || taken === 'unusable') return taken
      if (taken !== 'leased') return this.#ask(taken.credential, taken.lease)
      await pause(leaseLookMs)
    }
    return 'transient'
  }

  /** For the next order; undefined while there is no worker. Until when it lasts is said by who takes it. */
  #leaseOn(credentialId: CredentialId, credentialVersion: number): RefreshLease | undefined {
    const order = this.#deps.oauth.name()
    if (!order) return undefined
    const { instance: holder } = this.#deps
    const lease = { credentialId, credentialVersion, holder, leaseUntil: 0, isUnclear: false }
    return { ...lease, ...order }
  }

  /** Under the lease the version is what it was; without it, another gateway is at it. */
  async #take(wanted: RefreshLease): Promise<'renewed' | 'unusable' | 'leased' | Taken> {
    const { credentialId: id, credentialVersion: version, intentId } = wanted
    return this.#deps.store.transact(
      async (tx) => {
        const lease = { ...wanted, leaseUntil: (await tx.now()) + leaseMs }
        const isTaken = await tx.oauth.takeLease(lease)
        const credential = await tx.credentials.get(id)
        const isMoved = credential === undefined || credential.version !== version
        if (isTaken && !isMoved && credential.state === 'active') return { credential, lease }
        if (isTaken) await tx.oauth.dropLease(id, intentId)
        if (credential?.state !== 'active') return 'unusable'
        return isMoved ? 'renewed' : 'leased'
      },
      { flush: 'later' },
    )
  }

  async #ask(credential: Credential, lease: RefreshLease): Promise<Refreshed> {
    const { store, oauth, journal, report } = this.#deps
    try {
      const target = await oauthTarget(store, credential.connectionId)
      const { connection } = target
      const answer = await oauth.refresh({ ...target, credential }, lease)
      if (answer.kind === 'transient') this.#failed(credential.id)
      else this.#failedAt.delete(credential.id)
      const refresh = { connection, credential, lease, isRecovered: false }
      const refreshed = await journal.transact((tx, page) =>
        publishRefresh(tx, page, refresh, answer),
      )
      oauth.settled(lease)
      return refreshed
    } catch (thrown) {
      // Nobody knows whether the worker is still at it, or what it found: the lease is left for the next round to ask.
      report(thrown, 'refresh')
      return this.#failed(credential.id)
    }
  }

  async #recoverLeft(): Promise<void> {
    const { store, instance, report } = this.#deps
    const isBusy = (id: CredentialId): boolean => this.#running.has(id)
    for (const left of await leftLeases(store, instance, isBusy)) {
      const { credentialId: id, isUnclear } = left.lease
      if (isUnclear && this.#hasFailedWithin(againMs, id)) continue
      const recovered = once(this.#running, id, async () => {
        const found = await this.#found(left)
        return isAnswer(found) ? found : 'transient'
      })
      await recovered.catch((error) => report(error, 'refresh left'))
    }
  }

  /** What nobody could find out now is asked in the next round. */
  async #found(left: LeftLease): Promise<Found> {
    try {
      return await this.#recover(left)
    } catch (thrown) {
      this.#deps.report(thrown, 'refresh left')
      return this.#failed(left.lease.credentialId)
    }
  }

  async #recover({ lease, isOver }: LeftLease): Promise<Found> {
    const { store, oauth, journal } = this.#deps
    const { credentialId, credentialVersion, intentId } = lease
    const credential = await store.credentials.get(credentialId)
    const connection = credential && (await store.connections.get(credential.connectionId))
    const forget = () => store.transact((tx) => tx.oauth.dropLease(credentialId, intentId))
    // Revoked meanwhile, it has another version: what was given is still there, to be taken back.
    const isMoved = credential?.version !== credentialVersion && credential?.state !== 'revoked'
    if (!connection || isMoved) {
      await forget()
      oauth.settled(lease)
      return 'forgotten'
    }
    const about = { connection, credential, lease, isRecovered: true }
    const answer = await oauth.recover(lease)
    switch (answer.kind) {
      case 'running':
      case 'elsewhere':
        // Whoever ordered it would not wait for it any longer.
        if (!isOver) return 'waits'
        break
      case 'not_known':
        break
      case 'never_started':
        if (lease.isUnclear) break
        await forget()
        return 'forgotten'
      default: {
        const found = await journal.transact((tx, page) => publishRefresh(tx, page, about, answer))
        oauth.settled(lease)
        return found
      }
    }
    if (credential.state === 'active') return this.#askAnew(about)
    await forget()
    return 'unusable'
  }

  /** What became of the order is not known, and the next one tells. */
  async #askAnew(about: Refresh): Promise<Refreshed> {
    const { credential } = about
    const lease = this.#leaseOn(credential.id, credential.version)
    if (!lease) return this.#failed(credential.id)
    const next = await this.#deps.journal.transact(async (tx, page) => {
      const taken = { ...lease, leaseUntil: (await tx.now()) + leaseMs, isUnclear: true }
      return (await noteUnclear(tx, page, about, taken)) ? taken : undefined
    })
    return next ? this.#ask(credential, next) : 'transient'
  }

  #hasFailedWithin(ms: number, id: CredentialId): boolean {
    return this.#deps.now() - (this.#failedAt.get(id) ?? Number.NEGATIVE_INFINITY) < ms
  }

  #failed(id: CredentialId): 'transient' {
    this.#failedAt.set(id, this.#deps.now())
    return 'transient'
  }
}

function isAnswer(found: Found | undefined): found is Refreshed {
  return found !== undefined && found !== 'waits' && found !== 'forgotten'
}

/** One at a time: whoever asks meanwhile joins. */
function once<K, T>(running: Map<K, Promise<T>>, key: K, work: () => Promise<T>): Promise<T> {
  const known = running.get(key)
  if (known !== undefined) return known
  const begun = work().finally(() => running.delete(key))
  running.set(key, begun)
  return begun
}
