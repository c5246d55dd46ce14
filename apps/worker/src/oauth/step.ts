/** What every step of OAuth works with. */
import { SallyportError } from '@sallyport/protocol'
import type { CredentialSecret, OAuthIntent } from '@sallyport/protocol/node'
import type { OpenedEndpoint } from '../vault/read-secrets.ts'
import type { Vault } from '../vault/vault.ts'
import type { OAuthHttp } from './oauth-http.ts'
import type { ServerCache } from './server-cache.ts'

/** The credential that the intent names. */
export interface PresentCredential {
  readonly id: string
  readonly version: number
  readonly secret: CredentialSecret
}

export interface Step {
  readonly intent: OAuthIntent
  /** The request, as it travelled. */
  readonly raw: Buffer
  readonly http: OAuthHttp
  readonly servers: ServerCache
  readonly vault: Vault
  readonly endpoint: OpenedEndpoint
  readonly present: PresentCredential | undefined
}

interface Schema<T> {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: T }
}

/** Throws `bad_request`. */
export function readRequest<T>(schema: Schema<T>, raw: Buffer): T {
  try {
    const { data } = schema.safeParse(JSON.parse(raw.toString()))
    if (data !== undefined) return data
  } catch (cause) {
    throw new SallyportError('bad_request', { cause })
  }
  throw new SallyportError('bad_request')
}
