import type { OAuthAccount, OAuthPending } from '@sallyport/protocol/node'
import { accountOf } from './account.ts'
import { verifyIdToken } from './id-token.ts'
import type { OAuthHttp } from './oauth-http.ts'
import type { Document } from './read-document.ts'
import type { TokenAnswer } from './request-token.ts'

/**
 * Whose consent it was: of the id token, else of user info where OpenID was agreed to, and of what the answer says
 * itself. Undefined when nobody is named. Rejects with `oauth_identity_invalid`, `upstream_*`.
 */
export async function observeAccount(
  http: OAuthHttp,
  pending: OAuthPending,
  answer: TokenAnswer,
): Promise<OAuthAccount | undefined> {
  const { issuer, client, jwksUri } = pending
  const { idToken, members } = answer
  const claims =
    idToken === undefined || jwksUri === undefined
      ? undefined
      : await verifyIdToken(http, idToken, jwksUri, { issuer, clientId: client.clientId })
  return accountOf(claims ?? (await askUserinfo(http, pending, answer)), members)
}

/** A token for the resource alone opens nothing there: then nobody is named, which is no failure. */
async function askUserinfo(
  http: OAuthHttp,
  { userinfoEndpoint, oauthScope }: OAuthPending,
  answer: TokenAnswer,
): Promise<Document> {
  const agreed = (answer.oauthScope ?? oauthScope)?.split(' ') ?? []
  if (userinfoEndpoint === undefined || !agreed.includes('openid')) return {}
  const headers = { authorization: `Bearer ${answer.accessToken}` }
  return (await http.find(userinfoEndpoint, headers)) ?? {}
}
