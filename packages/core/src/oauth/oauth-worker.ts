import type { ErrorCode, IntentId } from '@sallyport/protocol'
import type {
  OAuthBegin,
  OAuthBegun,
  OAuthFinish,
  OAuthGranted,
  OAuthRevoked,
} from '@sallyport/protocol/node'
import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'

/** What an act is about. `credential`: the present one, when there is one that opens. */
export interface OAuthTarget {
  readonly connection: Connection
  readonly credential: Credential | undefined
}

/** The order of a refresh has a name before it is sent, so that whoever finds it left can ask what became of it. */
export interface RefreshOrder {
  readonly intentId: IntentId
  readonly workerInstance: string
  /** ms since 1970, clock of the gateway. */
  readonly issuedAt: number
}

/** `broken`: only a person helps. `transient`: nothing is known to have changed. */
export type RefreshAnswer =
  | { readonly kind: 'granted'; readonly granted: OAuthGranted }
  | { readonly kind: 'broken'; readonly code: ErrorCode }
  | { readonly kind: 'transient'; readonly code: ErrorCode }

/**
 * `running`: ask again. `never_started`: nothing was asked of the authorization server, and never will be. `elsewhere`:
 * the worker that knows cannot be asked from here. `not_known`: nobody knows any more.
 */
export type RecoveredRefresh =
  | RefreshAnswer
  | { readonly kind: 'running' | 'never_started' | 'elsewhere' | 'not_known' }

/** The worker alone talks to authorization servers and sees tokens. */
export interface OAuthWorker {
  /** Rejects with `oauth_*`, `upstream_*`, `seal_*`, `destination_refused`, `worker_down`. */
  begin(target: OAuthTarget, request: OAuthBegin): Promise<OAuthBegun | OAuthGranted>
  /** Rejects as `begin`. */
  finish(target: OAuthTarget, request: OAuthFinish): Promise<OAuthGranted>
  /** A name for the next refresh; undefined while there is no worker. */
  name(): RefreshOrder | undefined
  /** Rejects with `worker_down` when nobody knows whether it goes on. What comes of it is kept there until `settled`. */
  refresh(target: OAuthTarget, order: RefreshOrder): Promise<RefreshAnswer>
  /** What became of a refresh that was ordered. Rejects with `worker_down`. */
  recover(order: RefreshOrder): Promise<RecoveredRefresh>
  /** Rejects as `begin`. What becomes of the credential here does not depend on it. */
  revoke(target: OAuthTarget): Promise<OAuthRevoked>
  /** What came of it is stored, or will not be. */
  settled(order: RefreshOrder): void
}
