/**
 * Seals what a person typed about a connection. Runs where it was typed (command line, page) and, for machines that
 * cannot seal, in the API. Checks first: what passes here passes in the worker when the seal is first opened.
 */
import type { ConnectionId, CredentialId } from './ids.ts'
import type { CredentialClear } from './intent.ts'
import {
  checkHeaderNames,
  checkSecret,
  destinationOf,
  type Origin,
  parseEndpoint,
} from './names.ts'
import { seal, type VaultPublicKey } from './seal.ts'
import type { CredentialSecret, EndpointSecret } from './worker-wire.ts'

export interface Header {
  readonly name: string
  readonly value: string
}

export interface CredentialToSeal {
  /** Of the connection, also when only the secret is new: the seal holds where the secret may go. */
  readonly url: string
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string | undefined
  readonly headers: readonly Header[]
  readonly credentialId: CredentialId
  /** The version the credential row will have: 1 for a new credential, else the present one and 1. */
  readonly credentialVersion: number
  /** `org`, `project:<name>` or `personal:<user id>`. */
  readonly scope: string
  readonly key: VaultPublicKey
  /** May plain http toward this machine pass? (`vault.show` tells.) */
  readonly localAllowed: boolean
}

export interface ConnectionToSeal extends CredentialToSeal {
  readonly connectionId: ConnectionId
  /** The revision the connection row will have: 1 for a new connection, else the present one and 1. */
  readonly revision: number
}

export interface SealedEndpoint {
  readonly seal: string
  readonly clear: Origin
}

export interface SealedCredential {
  readonly id: CredentialId
  readonly seal: string
  readonly clear: CredentialClear
}

/** Throws `bad_url`, `bad_secret`, `bad_header`. `credential` is undefined when there is neither token nor header. */
export function sealConnection(input: ConnectionToSeal): {
  readonly endpoint: SealedEndpoint
  readonly credential: SealedCredential | undefined
} {
  const { url, scheme, host, port } = parseEndpoint(input.url, input.localAllowed)
  const secret: EndpointSecret = { url }
  const place = {
    kind: 'endpoint',
    id: input.connectionId,
    scope: input.scope,
    version: input.revision,
  } as const
  const credential = sealCredential(input)
  return {
    endpoint: { seal: seal(secret, place, input.key), clear: { scheme, host, port } },
    credential,
  }
}

/** The secret alone, for a connection whose URL stays. Throws as `sealConnection`; undefined when nothing is given. */
export function sealCredential(input: CredentialToSeal): SealedCredential | undefined {
  const endpoint = parseEndpoint(input.url, input.localAllowed)
  const headerNames = input.headers.map(({ name }) => name)
  const bearer = input.token !== undefined
  if (input.token !== undefined) checkSecret(input.token, 'token')
  checkHeaderNames(headerNames, bearer)
  for (const { value } of input.headers) checkSecret(value, 'headers')
  if (!bearer && headerNames.length === 0) return undefined
  const secret: CredentialSecret = {
    ...(input.token === undefined ? {} : { token: input.token }),
    headers: input.headers.map(({ name, value }) => ({ name, value })),
    destinations: [destinationOf(endpoint.url)],
  }
  const place = {
    kind: 'credential',
    id: input.credentialId,
    scope: input.scope,
    version: input.credentialVersion,
  } as const
  return {
    id: input.credentialId,
    seal: seal(secret, place, input.key),
    clear: { bearer, headerNames },
  }
}
