/**
 * Seals an OAuth client that a person registered by hand. Runs where it was typed, as the other seals do; the worker
 * checks again when it opens it.
 */
import { SallyportError } from './errors.ts'
import { checkSecret, destinationOf, parseEndpoint } from './names.ts'
import type { OAuthClientSecret, SealedOAuthClient } from './oauth-wire.ts'
import { seal, type VaultPublicKey } from './seal.ts'

export interface OAuthClientToSeal {
  readonly client: OAuthClientSecret['client']
  /** The authorization server it is registered with, exactly as that server names itself. */
  readonly issuer?: string
  /** Of the MCP servers it may be used for. Issuer, URLs, or both. */
  readonly urls: readonly string[]
  readonly id: string
  /** Of the row: 1 for a new client. */
  readonly version: number
  /** `org`, `project:<name>` or `personal:<user id>`. */
  readonly scope: string
  readonly key: VaultPublicKey
  /** May plain http toward this machine pass? (`vault.show` tells.) */
  readonly localAllowed: boolean
}

/** Throws `bad_secret`, `bad_url`; `bad_request` when it is said neither for which issuer nor for which server. */
export function sealOAuthClient(input: OAuthClientToSeal): SealedOAuthClient {
  const { client, issuer, urls, id, version, scope, key, localAllowed } = input
  checkOAuthClient(client)
  if (issuer === undefined && urls.length === 0) throw new SallyportError('bad_request')
  if (issuer !== undefined) parseEndpoint(issuer, localAllowed)
  const destinations = urls.map((url) => destinationOf(parseEndpoint(url, localAllowed).url))
  const secret: OAuthClientSecret = {
    client,
    ...(issuer === undefined ? {} : { issuer }),
    ...(destinations.length === 0 ? {} : { destinations }),
  }
  return {
    id,
    scope,
    version,
    seal: seal(secret, { kind: 'oauth_client', id, scope, version }, key),
    ...(issuer === undefined ? {} : { issuer }),
  }
}

const privateKeyLimit = 16_384
const privateKey = /^-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END PRIVATE KEY-----\n?$/

/** Throws `bad_secret` with the field: for what cannot be sent, and for a method without what it needs. */
export function checkOAuthClient(client: OAuthClientSecret['client']): void {
  const { clientId, clientSecret, privateKeyPem, keyId, authMethod } = client
  const bad = (field: string): never => {
    throw new SallyportError('bad_secret', { field })
  }
  checkSecret(clientId, 'clientId')
  if (clientSecret !== undefined) checkSecret(clientSecret, 'clientSecret')
  if (keyId !== undefined) checkSecret(keyId, 'keyId')
  if (privateKeyPem !== undefined) {
    const isKey = privateKeyPem.length <= privateKeyLimit && privateKey.test(privateKeyPem)
    if (!isKey) bad('privateKeyPem')
  }
  const isBySecret = authMethod === 'client_secret_basic' || authMethod === 'client_secret_post'
  if (isBySecret && clientSecret === undefined) bad('clientSecret')
  if (authMethod === 'private_key_jwt' && privateKeyPem === undefined) bad('privateKeyPem')
}
