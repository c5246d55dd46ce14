/** The OAuth part of a credential, as it is inside the seal, and what of it stands beside the seal. */
import { SallyportError } from '@sallyport/protocol'
import {
  type CredentialClear,
  checkOAuthClient,
  type OAuthAccount,
  type OAuthBundle,
  type OAuthClient,
  tokenAuthMethods,
} from '@sallyport/protocol/node'

export type OAuthClear = NonNullable<CredentialClear['oauth']>

/** Throws `seal_unreadable`, `bad_secret`. */
export function readBundle(plaintext: unknown): OAuthBundle {
  if (!isBundle(plaintext)) throw new SallyportError('seal_unreadable')
  checkOAuthClient(plaintext.client)
  return plaintext
}

export function clearOfBundle(bundle: OAuthBundle): OAuthClear {
  const { grant, refreshToken, issuer, expiresAt, account, oauthScope } = bundle
  return {
    issuerHost: new URL(issuer).host,
    refreshable: grant === 'client_credentials' || refreshToken !== undefined,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(account?.label === undefined ? {} : { account: account.label }),
    ...(oauthScope === undefined ? {} : { oauthScope }),
  }
}

export function equalOAuth(one: OAuthClear | undefined, other: OAuthClear | undefined): boolean {
  return (
    one?.issuerHost === other?.issuerHost &&
    one?.refreshable === other?.refreshable &&
    one?.expiresAt === other?.expiresAt &&
    one?.account === other?.account &&
    one?.oauthScope === other?.oauthScope
  )
}

function isBundle(plaintext: unknown): plaintext is OAuthBundle {
  const { grant, issuer, tokenEndpoint, resource, client, account, ...rest } = (plaintext ??
    {}) as Partial<OAuthBundle>
  return (
    (grant === 'authorization_code' || grant === 'client_credentials') &&
    isUrl(issuer) &&
    isUrl(tokenEndpoint) &&
    (rest.revocationEndpoint === undefined || isUrl(rest.revocationEndpoint)) &&
    typeof resource === 'string' &&
    isClient(client) &&
    [rest.refreshToken, rest.agreedScope, rest.oauthScope].every(isTextOrNone) &&
    (rest.expiresAt === undefined || Number.isSafeInteger(rest.expiresAt)) &&
    (account === undefined || isAccount(account))
  )
}

/** One with its method; what it holds is judged by `checkOAuthClient`. */
export function isClient(client: unknown): client is OAuthClient {
  const { clientId, authMethod, ...rest } = (client ?? {}) as Partial<OAuthClient>
  return (
    typeof clientId === 'string' &&
    tokenAuthMethods.some((one) => one === authMethod) &&
    [rest.clientSecret, rest.privateKeyPem, rest.keyId].every(isTextOrNone)
  )
}

function isAccount(account: unknown): boolean {
  const { ids, label } = (account ?? {}) as Partial<OAuthAccount>
  const isNamed = typeof ids === 'object' && ids !== null
  return isNamed && Object.values(ids).every(isTextOrNone) && isTextOrNone(label)
}

function isUrl(text: unknown): boolean {
  return typeof text === 'string' && URL.canParse(text)
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}
