/**
 * A connection is one upstream made usable by one owner. The URL is a secret: only its origin is readable here, the
 * rest is a seal that the worker opens.
 */
import type {
  CatalogId,
  ConnectionId,
  CredentialId,
  connectionStates,
  ErrorCode,
  Origin,
  transports,
  UserId,
} from '@sallyport/protocol'

export type ConnectionState = (typeof connectionStates)[number]
export type Transport = (typeof transports)[number]

/** `org`, `project:<name>` or `personal:<user id>`, as in the header of a seal. */
export type Scope = string & { readonly __scope: true }

export interface ConnectionLimits {
  /** Milliseconds for one call, from its first byte. */
  readonly callMs: number
  /** Bytes of one result. */
  readonly resultBytes: number
}

export interface Health {
  readonly state: 'unknown' | 'ok' | 'unreachable' | 'unauthorized' | 'drift' | 'seal'
  readonly code: ErrorCode | null
  readonly at: number | null
}

export interface Connection {
  readonly id: ConnectionId
  readonly name: string
  readonly scope: Scope
  /** Set for the personal scope. */
  readonly ownerId: UserId | null
  readonly transport: Transport
  readonly state: ConnectionState
  /** Raised when it may be another upstream afterwards. Bindings and catalogs hold it. */
  readonly revision: number
  /** Raised by every change, for compare-and-swap. */
  readonly version: number
  readonly required: boolean
  readonly limits: ConnectionLimits
  readonly endpointSeal: string | null
  readonly endpointClear: Origin | null
  readonly credentialId: CredentialId | null
  readonly publishedId: CatalogId | null
  /** A connection that was ever enabled masks others of its name in narrower scopes. */
  readonly everEnabled: boolean
  readonly health: Health
  readonly createdAt: number
  readonly updatedAt: number
}

/** The newest accepted listing of the worker, so that all gateways agree on drift. */
export interface Observation {
  readonly connectionId: ConnectionId
  readonly connectionRevision: number
  readonly digest: string
  readonly at: number
  /** Tool name → digest. */
  readonly tools: Readonly<Record<string, string>>
}

export const connectionsPerScope = 25

export const defaultLimits: ConnectionLimits = { callMs: 60_000, resultBytes: 4 * 1024 * 1024 }
