/**
 * How a connection gets its credential from an authorization server. Everything secret is sealed: clients here, the
 * tokens in the credential, the code verifier in the flow.
 */
import type {
  ConnectionId,
  CredentialId,
  ErrorCode,
  InstanceId,
  IntentId,
  OAuthClientId,
  OAuthFlowId,
  Origin,
  oauthFlowStates,
  oauthGrants,
  ServiceId,
  UserId,
} from '@sallyport/protocol'
import type { AccountFinding, OAuthServer } from '@sallyport/protocol/node'
import type { Scope } from '../connection/connection.ts'

export type OAuthGrant = (typeof oauthGrants)[number]
export type OAuthFlowState = (typeof oauthFlowStates)[number]

/** Beside a connection that has no secret of its own. */
export interface OAuthConnection {
  readonly connectionId: ConnectionId
  readonly grantType: OAuthGrant
  /** Beside those that the server asks for. */
  readonly scopeWanted: readonly string[]
  /** The MCP server refused a call for want of these, and nobody has granted them since. */
  readonly scopeRequired: readonly string[]
  /** Registered by a person. */
  readonly clientId: OAuthClientId | null
  /** The one that a person signed in at; null before. */
  readonly issuer: string | null
  /** Its hosts, as they were then; null where that is not known. */
  readonly server: OAuthServer | null
  /** Servers that a guest must never reach by itself. */
  readonly places: readonly Origin[]
}

/** A client at an authorization server. */
export interface StoredOAuthClient {
  readonly id: OAuthClientId
  /** Or of a service, whose connections use it. Null for one that a flow registered, for every connection of its scope. */
  readonly connectionId: ConnectionId | ServiceId | null
  readonly scope: Scope
  /** Of its seal. */
  readonly version: number
  readonly issuer: string | null
  readonly seal: string
  readonly createdAt: number
}

/** One sign-in: `waiting → finishing → done | failed`. */
export interface OAuthFlow {
  readonly id: OAuthFlowId
  /** Of the 32 random bytes that travel with the browser. */
  readonly stateHash: string
  readonly state: OAuthFlowState
  /** The gateway that the browser came back to. */
  readonly finisher: InstanceId | null
  readonly connectionId: ConnectionId
  readonly connectionRevision: number
  /** Who began it. */
  readonly userId: UserId
  /** Of the connection when it began. */
  readonly credentialId: CredentialId | null
  readonly freshCredentialId: CredentialId
  /** Empty where nobody had to sign in. */
  readonly issuer: string
  /** Opens in the worker only; empty once it was used. */
  readonly pending: string
  /** Why it failed. */
  readonly code: ErrorCode | null
  readonly account: AccountFinding | null
  readonly createdAt: number
  readonly expiresAt: number
}

/** Who refreshes a credential right now, and by which order: whoever finds it left can ask what became of that. */
export interface RefreshLease {
  readonly credentialId: CredentialId
  /** That is refreshed. */
  readonly credentialVersion: number
  readonly holder: InstanceId
  readonly leaseUntil: number
  readonly intentId: IntentId
  /** The worker it is addressed to. */
  readonly workerInstance: string
  /** ms since 1970, clock of the gateway. */
  readonly issuedAt: number
  /** What became of an earlier order for this version is not known: the row stays until one is answered. */
  readonly isUnclear: boolean
}
