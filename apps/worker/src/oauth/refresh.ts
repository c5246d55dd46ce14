/** `oauth_refresh`: one request to the token endpoint, at the host in the seal, and the next version of the credential. */
import { SallyportError } from '@sallyport/protocol'
import type { OAuthAccount, OAuthBundle, OAuthGranted } from '@sallyport/protocol/node'
import { accountOf, compareAccounts, mergeAccounts } from './account.ts'
import { defined } from './defined.ts'
import { sealGrant } from './grant-credential.ts'
import { readIdToken } from './id-token.ts'
import { grantPlaces, placesAnew } from './known-server.ts'
import { requestToken, type TokenAnswer } from './request-token.ts'
import { isWider } from './scope.ts'
import type { Step } from './step.ts'

/** Rejects with `oauth_*`, `account_changed`, `upstream_*`. */
export async function refresh(step: Step): Promise<OAuthGranted> {
  const { http, present } = step
  const before = present?.secret.oauth
  if (!present || !before) throw new SallyportError('oauth_not_refreshable')
  const parameters = parametersOf(before)
  const places = await grantPlaces(step, before, 'tokenEndpoint')
  const place = { ...before, ...places }
  const answer = await requestToken(http, place, parameters).catch(async (thrown: unknown) => {
    // At another path it is tried by the next refresh: what this one did is not known.
    await placesAnew(step, before, 'tokenEndpoint', thrown)
    throw thrown
  })
  const bundle = await nextBundle(place, answer)
  const { id: credentialId, version } = present
  return sealGrant(
    step,
    { accessToken: answer.accessToken, bundle, places: [] },
    { account: 'same', credentialId, credentialVersion: version + 1 },
  )
}

function parametersOf(bundle: OAuthBundle): Readonly<Record<string, string>> {
  const { grant, refreshToken, resource, agreedScope } = bundle
  if (grant === 'client_credentials')
    return { grant_type: grant, resource, ...defined({ scope: agreedScope }) }
  if (refreshToken === undefined) throw new SallyportError('oauth_not_refreshable')
  return { grant_type: 'refresh_token', refresh_token: refreshToken, resource }
}

async function nextBundle(before: OAuthBundle, answer: TokenAnswer): Promise<OAuthBundle> {
  const account = await sameAccount(before, answer)
  const { agreedScope = answer.oauthScope } = before
  const { oauthScope = agreedScope } = answer
  if (oauthScope !== undefined && agreedScope !== undefined && isWider(oauthScope, agreedScope))
    throw new SallyportError('oauth_scope_widened')
  const { grant, issuer, tokenEndpoint, revocationEndpoint, client, resource } = before
  // A server that does not rotate leaves it out: the one it gave before goes on (RFC 6749 6).
  const { refreshToken = before.refreshToken, expiresAt } = answer
  return {
    ...{ grant, issuer, tokenEndpoint, client, resource },
    ...defined({ revocationEndpoint }),
    ...defined({ refreshToken, expiresAt, agreedScope, oauthScope, account }),
  }
}

/** An answer that names nobody keeps who it was. */
async function sameAccount(
  before: OAuthBundle,
  { idToken, members }: TokenAnswer,
): Promise<OAuthAccount | undefined> {
  const { issuer, client } = before
  const claims =
    idToken === undefined ? {} : await readIdToken(idToken, { issuer, clientId: client.clientId })
  const now = accountOf(claims, members)
  if (compareAccounts(before.account, now) === 'other') throw new SallyportError('account_changed')
  return mergeAccounts(before.account, now)
}
