/** Opens seals, and checks that what is inside is what the intent says and may go where it is going. */
import { type Origin, SallyportError } from '@sallyport/protocol'
import {
  type CredentialClear,
  type CredentialSecret,
  type Intent,
  openSeal,
  reseal,
  type SealPlace,
  seal,
  type WebhookIntent,
} from '@sallyport/protocol/node'
import type { KeyRing } from './key-ring.ts'
import { OpenedSeals } from './opened-seals.ts'
import { equalOAuth } from './read-oauth.ts'
import {
  type OpenedCredential,
  type OpenedEndpoint,
  readCredential,
  readEndpoint,
} from './read-secrets.ts'
import { type OpenedWebhook, readWebhook } from './read-webhook.ts'

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
  /** When the access token among them ends, in milliseconds since 1970, as far as it is known. */
  readonly expiresAt?: number | undefined
  /** What an answer must not hold. */
  readonly forms: readonly Buffer[]
}

export interface VaultOptions {
  readonly ring: Pick<KeyRing, 'keys' | 'retired' | 'newest'>
  readonly localAllowed: boolean
  /** Milliseconds on a clock that never steps. */
  readonly monotonic: () => number
}

export class Vault {
  readonly #options: VaultOptions
  readonly #opened: OpenedSeals<OpenedEndpoint | OpenedCredential>

  constructor(options: VaultOptions) {
    this.#options = options
    this.#opened = new OpenedSeals(options.monotonic)
  }

  /** How many openings are remembered. */
  get size(): number {
    return this.#opened.size
  }

  /** Throws as `openSeal`, and `seal_mismatch`, `destination_refused`, `local_upstreams_off`, `bad_*`. */
  open(claims: Claims, sealed: Sealed): Target {
    const endpoint = this.#endpoint(claims, sealed.endpoint)
    if (sealed.credential === undefined) return { endpoint, headers: [], forms: endpoint.forms }
    const credential = this.#credential(claims, sealed.credential)
    if (!credential.destinations.includes(endpoint.destination))
      throw new SallyportError('destination_refused')
    const { headers, expiresAt } = credential
    return { endpoint, headers, expiresAt, forms: [...endpoint.forms, ...credential.forms] }
  }

  /** Opened anew each time: webhooks are few. Throws as `open`, but `destination_refused`: here both are in one seal. */
  openWebhook(
    claims: Pick<WebhookIntent, 'webhookId' | 'webhookVersion' | 'scope' | 'endpointClear'>,
    seal: string,
  ): OpenedWebhook {
    const { webhookId: id, webhookVersion: version, scope } = claims
    const plaintext = this.openSecret(seal, { kind: 'webhook', id, scope, version })
    const opened = readWebhook(plaintext, this.#options.localAllowed)
    if (!equalOrigin(opened, claims.endpointClear)) throw new SallyportError('seal_mismatch')
    return opened
  }

  /** As `open`, with what is inside the credential: for a step of OAuth, which changes it. */
  openOAuth(
    claims: Claims,
    sealed: Sealed,
  ): { readonly endpoint: OpenedEndpoint; readonly credential: CredentialSecret | undefined } {
    const { endpoint } = this.open(claims, sealed)
    if (sealed.credential === undefined) return { endpoint, credential: undefined }
    const { credentialId: id = '', credentialVersion: version = 0, scope } = claims
    const place: SealPlace = { kind: 'credential', id, scope, version }
    // Its shape was judged when it was opened above.
    const credential = this.openSecret(sealed.credential, place) as CredentialSecret
    return { endpoint, credential }
  }

  /** What a seal holds, opened anew and not remembered. The caller judges where it may go. Throws as `openSeal`. */
  openSecret(text: string, place: SealPlace): unknown {
    const { keys, retired } = this.#options.ring
    return openSeal(text, place, keys, retired)
  }

  /** To the newest key. */
  seal(plaintext: unknown, place: SealPlace): string {
    return seal(plaintext, place, this.#options.ring.newest)
  }

  /**
   * The same secret for the same place, sealed to another key that is held here. Throws as `openSeal`; `seal_key_unknown`
   * and `seal_key_retired` also for the other key.
   */
  reseal(text: string, place: SealPlace, toKid: string): string {
    const { keys, retired } = this.#options.ring
    const to = retired.has(toKid) ? undefined : keys.find(({ kid }) => kid === toKid)
    if (to) return reseal(text, place, to, keys, retired)
    throw new SallyportError(retired.has(toKid) ? 'seal_key_retired' : 'seal_key_unknown')
  }

  /** Forgets what was opened of a connection. */
  release(connectionId: string): void {
    this.#opened.release(connectionId)
  }

  /** Forgets everything that was opened. */
  clear(): void {
    this.#opened.clear()
  }

  /** Forgets what was not used for a minute. Called every few seconds. */
  sweep(): void {
    this.#opened.sweep()
  }

  #endpoint(claims: Claims, seal: string): OpenedEndpoint {
    const place: SealPlace = {
      kind: 'endpoint',
      id: claims.connectionId,
      scope: claims.scope,
      version: claims.connectionRevision,
    }
    const opened = this.#opened.recall(claims.connectionId, claims.endpointDigest, place, () =>
      readEndpoint(this.openSecret(seal, place), this.#options.localAllowed),
    )
    if (!equalOrigin(opened, claims.endpointClear)) throw new SallyportError('seal_mismatch')
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
    const opened = this.#opened.recall(claims.connectionId, credentialDigest, place, () =>
      readCredential(this.openSecret(seal, place)),
    )
    if (!equalClear(opened.clear, credentialClear)) throw new SallyportError('seal_mismatch')
    return opened
  }
}

function equalOrigin(one: Origin, other: Origin): boolean {
  return one.scheme === other.scheme && one.host === other.host && one.port === other.port
}

function equalClear(one: CredentialClear, other: CredentialClear): boolean {
  return (
    one.bearer === other.bearer &&
    equalOAuth(one.oauth, other.oauth) &&
    one.headerNames.length === other.headerNames.length &&
    one.headerNames.every((name, index) => name === other.headerNames[index])
  )
}
