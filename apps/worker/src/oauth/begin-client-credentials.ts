/** `oauth_begin` of client credentials: there is nobody to ask, so it ends with the credential. */
import type { OAuthBegin, OAuthBundle, OAuthGranted } from '@sallyport/protocol/node'
import { openClient, ownClient } from './choose-client.ts'
import { defined } from './defined.ts'
import { discover } from './discover.ts'
import { rowFor, sealGrant } from './grant-credential.ts'
import { withServer } from './known-server.ts'
import { requestToken } from './request-token.ts'
import { selectScope } from './scope.ts'
import type { Step } from './step.ts'

type ClientBegin = Extract<OAuthBegin, { readonly grant: 'client_credentials' }>

/** Rejects with `oauth_*`, `upstream_*`, `seal_*`. */
export async function beginClientCredentials(
  step: Step,
  request: ClientBegin,
): Promise<OAuthGranted> {
  const { http, vault, endpoint, present } = step
  const secret = openClient(vault, request.client)
  const { expectedIssuer } = request
  const preferred = [request.client.issuer, expectedIssuer]
  const { resource, server, places, origins } = await discover(step, preferred, request)
  const client = ownClient({ server, destination: endpoint.destination }, secret)
  const sources = {
    challenged: resource.challengedScope,
    ofResource: resource.scopes,
    ofServer: server.scopes,
    wanted: request.oauthScope,
  }
  const place = { issuer: server.issuer, tokenEndpoint: server.tokenEndpoint.url, client }
  const asked = selectScope(sources, false)
  const parameters = {
    grant_type: 'client_credentials',
    resource: resource.resource,
    ...defined({ scope: asked }),
  }
  const answer = await withServer(step, server.issuer, () => requestToken(http, place, parameters))
  const oauthScope = answer.oauthScope ?? asked
  const bundle: OAuthBundle = {
    grant: 'client_credentials',
    ...place,
    resource: resource.resource,
    ...defined({ revocationEndpoint: server.revocationEndpoint?.url }),
    ...defined({ expiresAt: answer.expiresAt, agreedScope: oauthScope, oauthScope }),
  }
  const grant = { accessToken: answer.accessToken, bundle, places, server: origins }
  return sealGrant(step, grant, rowFor(present, bundle, request.freshCredentialId))
}
