/** The heads of the frames between gateway and worker. Both sides run the same release; anything else is refused. */

import type { VaultSource } from './api/keys.ts'
import type { Digest } from './digest.ts'
import type { ErrorCode } from './errors.ts'
import type { CredentialClear, Intent } from './intent.ts'
import type { Endpoint, Origin } from './names.ts'
import type { OAuthBundle } from './oauth-wire.ts'
import type { VaultPublicKey } from './seal.ts'
import type { ProcessWalls } from './worker-isolation.ts'

export const wireVersion = 1

/**
 * First frame of both sides, the gateway's first. Clocks more than five seconds apart end the connection: the worker's
 * hello then says why, and nothing comes after it.
 */
export interface Hello {
  readonly wire: number
  readonly release: string
  readonly build: string
  readonly role: 'gateway' | 'worker'
  readonly instance: string
  readonly now: number
  readonly pid: number
  /** Set by the worker. `memorySince`: its memory of intent ids reaches back to here (ms since 1970). */
  readonly memorySince?: number
  /** The newest key: what a secret is sealed to. */
  readonly vault?: VaultPublicKey
  /** Set by the worker. */
  readonly keys?: VaultState
  /** Set by the worker: may its memory get into a core dump? `unknown` where the system does not tell. */
  readonly coreDumps?: CoreDumps
  /** Set by the worker: what it finds, from inside, that separates it from the rest of its machine. */
  readonly walls?: ProcessWalls
  /** Set by the worker. */
  readonly refused?: 'clock_skew' | 'wrong_release'
  /** Set by the gateway: where it listens itself, which no connection may lead to. */
  readonly ownListeners?: readonly { readonly host: string; readonly port: number }[]
}

export type CoreDumps = 'off' | 'on' | 'unknown'

/** What a worker holds to open seals. Also the head of `vault`, sent to every gateway when it has changed. */
export interface VaultState {
  readonly source: VaultSource
  /** Newest first; at least one. */
  readonly keys: readonly HeldKey[]
  /** Names of keys that opened seals once and are gone for good, as far as the source tells. */
  readonly retired: readonly string[]
}

export interface HeldKey extends VaultPublicKey {
  /** Milliseconds since 1970, where the source tells. */
  readonly madeAt: number | null
}

/**
 * `intents`: raw bytes are the canonical JSON of the intents, one a line, without a last newline. `jws` signs
 * `batchPayload(digests)` with the key of the certificate this connection showed; `kid` is that key's thumbprint.
 */
export interface IntentsHead {
  readonly batch: Digest
  readonly jws: string
}

/** What the JWS of a batch signs: its digests, in order, one a line. The batch is named by the digest of that. */
export function batchPayload(digests: readonly Digest[]): string {
  return digests.join('\n')
}

/**
 * `body`: raw bytes are the effective arguments, canonical (empty for `list`, `close`, `oauth_refresh` and `oauth_revoke`), the request of
 * `oauth_begin` or `oauth_finish`, or the body of a webhook, whose seal is the `endpoint`. A seal that has crossed this
 * connection (`SealBook`) is left out: the intent names it by its digest.
 */
export interface BodyHead {
  readonly intent: string
  readonly endpoint?: string
  readonly credential?: string
}

/** `committed`: positions in the batch that passed the barrier. `abort`: only `batch`. */
export interface CommittedHead {
  readonly batch: Digest
  readonly admitted: readonly number[]
}
export interface AbortHead {
  readonly batch: Digest
}

export const verdicts = ['result', 'not_sent', 'uncertain'] as const
export type Verdict = (typeof verdicts)[number]

/**
 * Head of `result`, and of `late`: the known answer to a write that was told as `uncertain` when its time was over. Such
 * a frame has no raw bytes, comes once at most, and settles nothing: it is evidence for the person who resolves.
 * For `result` of a call, raw bytes are exactly the upstream's `result` member, or its JSON-RPC
 * `error` member when `rpcError`. For `result` of a list, raw bytes are a `Listing` as JSON; of OAuth, an `OAuthBegun` or
 * `OAuthGranted`.
 */
export interface ResultHead {
  readonly intent: string
  readonly verdict: Verdict
  /** Always for `not_sent` and `uncertain`; for `result` only when the known answer is a failure of ours to pass on. */
  readonly code?: ErrorCode
  readonly rpcError?: boolean
  /** `isError` of the tool result. */
  readonly isError?: boolean
  readonly status?: number
  readonly digest?: Digest
  readonly bytes?: number
  /** The raw bytes are a beginning with a mark; `bytes` and `digest` are those of the whole. */
  readonly isCut?: boolean
  /** The body is not here: over the limit, withheld, or dropped from memory. */
  readonly withheld?: 'too_large' | 'credential' | 'dropped'
  /** The scopes a server named when it refused a call for want of them: data of the server, well-formed. */
  readonly requiredScope?: string
  /** Requests of the server that were answered "method not found", or violations of a 2026-07-28 channel. */
  readonly serverRequests?: number
  readonly violations?: number
  /** Milliseconds from first byte to last, worker's monotonic clock. */
  readonly tookMs?: number
}

export interface ProgressHead {
  readonly intent: string
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

export interface SettledHead {
  readonly intents: readonly string[]
}

export interface RecoverHead {
  readonly intents: readonly { readonly id: string; readonly iat: number; readonly aud: string }[]
}

/** One frame an intent; for `result` the frame continues with the head and raw bytes of the result. */
export interface RecoveredHead {
  readonly intent: string
  readonly instance: string
  readonly state: 'result' | 'running' | 'never_started' | 'not_known'
  readonly result?: ResultHead
}

export interface CancelHead {
  readonly intent: string
}

/** Upstream state of a connection that is no longer needed: pools closed, legacy session ended, opened seals dropped. */
export interface ReleaseHead {
  readonly connectionId: string
}

/** The worker's newest accepted listing of a connection. */
export interface ObservedHead {
  readonly connectionId: string
  readonly connectionRevision: number
  readonly digest: Digest
  readonly at: number
  /** Tool name → digest. */
  readonly tools: Readonly<Record<string, Digest>>
}

export interface PingHead {
  readonly n: number
}

/** A tool as the upstream lists it. `digest` covers everything else here. */
export interface ListedTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: unknown
  readonly outputSchema?: unknown
  readonly annotations?: unknown
  readonly digest: Digest
}

export interface Listing {
  readonly era: 'modern' | 'legacy'
  readonly protocolVersion: string
  readonly serverInfo?: { readonly name: string; readonly version: string }
  readonly capabilities: readonly string[]
  /** Sorted by name. */
  readonly tools: readonly ListedTool[]
  /** Over the sorted list of [name, digest]. */
  readonly digest: Digest
}

/** Sealed plaintext of a connection's endpoint. */
export interface EndpointSecret {
  readonly url: Endpoint['url']
}

/** Sealed plaintext of a credential. `destinations` are origin and path, the only places it may go to. */
export interface CredentialSecret {
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly destinations: readonly string[]
  /** The token is an access token of this. */
  readonly oauth?: OAuthBundle
}

/** Sealed plaintext of a webhook. */
export interface WebhookSecret {
  readonly url: Endpoint['url']
  /** Base64 of 24 to 64 bytes: the key it is signed with. */
  readonly secret: string
}

export type EndpointClear = Origin
export type WebhookClear = Origin
export type { CredentialClear, Intent }
