import type { ConnectionId, CredentialId } from '@sallyport/protocol'
import type { CredentialClear } from '@sallyport/protocol/node'

export const credentialStates = ['active', 'broken', 'revoked'] as const
export type CredentialState = (typeof credentialStates)[number]

/** The sealed bundle a connection authenticates with. Never opened in the gateway. */
export interface Credential {
  readonly id: CredentialId
  readonly connectionId: ConnectionId
  readonly version: number
  readonly state: CredentialState
  readonly seal: string
  /** Beside the seal and bound by it. */
  readonly clear: {
    readonly bearer: boolean
    readonly headerNames: readonly string[]
    readonly oauth?: CredentialClear['oauth']
  }
  readonly createdAt: number
  readonly updatedAt: number
}
