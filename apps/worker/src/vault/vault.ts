/**
 * Opens seals, checks that what is inside is what the intent says and may go where it is going, and remembers what was
 * opened for a minute: an opening costs more than the rest of a call.
 */
import { SallyportError } from '@sallyport/protocol'
import {
  type CredentialClear,
  type Intent,
  openSeal,
  type SealPlace,
  type VaultKey,
} from '@sallyport/protocol/node'
import {
  type OpenedCredential,
  type OpenedEndpoint,
  readCredential,
  readEndpoint,
} from './read-secrets.ts'

/** What of an intent says which upstream it is for. */
export type Claims = Pick<
  Intent,
  | 'connectionId'
  | 'connectionRevision'
  | 'scope'
  | 'endpointDigest'
  | 'endpointClear'
  | 'credentialId'
  | 'credentialVersion'
  | 'credentialDigest'
  | 'credentialClear'
>

export interface Sealed {
  readonly endpoint: string
  readonly credential: string | undefined
}

/** Where to go and what to show there. Held for the length of one use, never stored. */
export interface Target {
  readonly endpoint: OpenedEndpoint
  readonly headers: readonly string[]
  /** What an answer must not hold. */
  readonly forms: readonly Buffer[]
}

export interface VaultOptions {
  readonly keys: readonly VaultKey[]
  readonly localAllowed: boolean
  /** Milliseconds on a clock that never steps. */
  readonly monotonic: () => number
}

interface Remembered {
  readonly connectionId: string
  readonly place: SealPlace
  readonly opened: OpenedEndpoint | OpenedCredential
  usedAt: number
}

const rememberMs = 60_000
const rememberAtMost = 256

export class Vault {
  readonly #options: VaultOptions
  /** By digest of the ciphertext, oldest use first. */
  readonly #remembered = new Map<string, Remembered>()

  constructor(options: VaultOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#remembered.size
  }

  /** Throws `seal_unreadable`, `seal_mismatch`, `destination_refused`, `local_upstreams_off`, `bad_*`. */
  open(claims: Claims, sealed: Sealed): Target {
    const endpoint = this.#endpoint(claims, sealed.endpoint)
    if (sealed.credential === undefined) return { endpoint, headers: [], forms: endpoint.forms }
    const credential = this.#credential(claims, sealed.credential)
    if (!credential.destinations.includes(endpoint.destination))
      throw new SallyportError('destination_refused')
    const forms = [...endpoint.forms, ...credential.forms]
    return { endpoint, headers: credential.headers, forms }
  }

  /** Forgets what was opened of a connection. */
  release(connectionId: string): void {
    for (const [digest, entry] of this.#remembered)
      if (entry.connectionId === connectionId) this.#remembered.delete(digest)
  }

  /** Forgets what was not used for a minute. Called every few seconds. */
  sweep(): void {
    const oldest = this.#options.monotonic() - rememberMs
    for (const [digest, { usedAt }] of this.#remembered) {
      if (usedAt > oldest) return
      this.#remembered.delete(digest)
    }
  }

  #endpoint(claims: Claims, seal: string): OpenedEndpoint {
    const place: SealPlace = {
      kind: 'endpoint',
      id: claims.connectionId,
      scope: claims.scope,
      version: claims.connectionRevision,
    }
    const opened = this.#recall(claims, claims.endpointDigest, place, () =>
      readEndpoint(openSeal(seal, place, this.#options.keys), this.#options.localAllowed),
    )
    const { scheme, host, port } = claims.endpointClear
    if (opened.scheme !== scheme || opened.host !== host || opened.port !== port)
      throw new SallyportError('seal_mismatch')
    return opened
  }

  #credential(claims: Claims, seal: string): OpenedCredential {
    const { credentialId, credentialVersion, credentialDigest, credentialClear } = claims
    if (!credentialId || !credentialVersion || !credentialDigest || !credentialClear)
      throw new SallyportError('seal_mismatch')
    const place: SealPlace = {
      kind: 'credential',
      id: credentialId,
      scope: claims.scope,
      version: credentialVersion,
    }
    const opened = this.#recall(claims, credentialDigest, place, () =>
      readCredential(openSeal(seal, place, this.#options.keys)),
    )
    if (!equalClear(opened.clear, credentialClear)) throw new SallyportError('seal_mismatch')
    return opened
  }

  /** What is remembered of a ciphertext counts only for the place it was opened for. */
  #recall<T extends OpenedEndpoint | OpenedCredential>(
    { connectionId }: Claims,
    digest: string,
    place: SealPlace,
    open: () => T,
  ): T {
    const known = this.#remembered.get(digest)
    if (known) {
      if (!equalPlace(known.place, place)) throw new SallyportError('seal_unreadable')
      this.#used(digest, known)
      return known.opened as T
    }
    const opened = open()
    this.#forgetOlder(connectionId, place)
    const usedAt = this.#options.monotonic()
    this.#remembered.set(digest, { connectionId, place, opened, usedAt })
    return opened
  }

  /** To a second: moving it for every call would cost more than looking it up. */
  #used(digest: string, entry: Remembered): void {
    const now = this.#options.monotonic()
    if (now - entry.usedAt < 1_000) return
    entry.usedAt = now
    this.#remembered.delete(digest)
    this.#remembered.set(digest, entry)
  }

  /** A newer seal of the same row replaces the older one; beyond the limit the longest unused goes. */
  #forgetOlder(connectionId: string, { kind, id }: SealPlace): void {
    for (const [digest, entry] of this.#remembered) {
      const isSameRow = entry.place.kind === kind && entry.place.id === id
      if (isSameRow && entry.connectionId === connectionId) this.#remembered.delete(digest)
    }
    const [longestUnused] = this.#remembered.keys()
    if (longestUnused !== undefined && this.#remembered.size >= rememberAtMost)
      this.#remembered.delete(longestUnused)
  }
}

function equalPlace(one: SealPlace, other: SealPlace): boolean {
  return (
    one.kind === other.kind &&
    one.id === other.id &&
    one.scope === other.scope &&
    one.version === other.version
  )
}

function equalClear(one: CredentialClear, other: CredentialClear): boolean {
  return (
    one.bearer === other.bearer &&
    one.headerNames.length === other.headerNames.length &&
    one.headerNames.every((name, index) => name === other.headerNames[index])
  )
}
