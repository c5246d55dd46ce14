/** A server that administrators offer: whoever adds a connection picks it by name instead of typing where it is. */
import type { OAuthClientId, ServiceId, serviceMethods, UserId } from '@sallyport/protocol'

export type ServiceMethod = (typeof serviceMethods)[number]

export interface Service {
  readonly id: ServiceId
  readonly name: string
  /** Its URL, normalized. No secret: everybody who may add connections sees it. */
  readonly resource: string
  /** How a connection to it gets its credential; `none`: as is given with the connection. */
  readonly method: ServiceMethod
  readonly scopeWanted: readonly string[]
  /** Registered by a person at its authorization server, for every connection to it. */
  readonly clientId: OAuthClientId | null
  readonly createdBy: UserId
  readonly createdAt: number
}
