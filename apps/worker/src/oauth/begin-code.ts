/** `oauth_begin` of an authorization code: everything up to the address that a person opens. */
import { createHash, randomBytes } from 'node:crypto'
import { SallyportError } from '@sallyport/protocol'
import {
  type OAuthBegin,
  type OAuthBegun,
  type OAuthPending,
  oauthFlowMs,
  type SealedOAuthClient,
} from '@sallyport/protocol/node'
import { type ChosenClient, chooseClient } from './choose-client.ts'
import { defined } from './defined.ts'
import { type Discovery, discover } from './discover.ts'
import { withServer } from './known-server.ts'
import { readPlace } from './read-document.ts'
import { selectScope } from './scope.ts'
import type { Step } from './step.ts'

type CodeBegin = Extract<OAuthBegin, { readonly grant: 'authorization_code' }>

/** A browser takes more; what is longer is no request of ours. */
const longestAddress = 16_384

/** Rejects with `oauth_*`, `upstream_*`, `seal_*`, `bad_request`. */
export async function beginCode(step: Step, request: CodeBegin): Promise<OAuthBegun> {
  checkRedirect(request)
  const preferred = [request.client?.issuer, request.expectedIssuer]
  const discovery = await discover(step, preferred, request)
  return await withServer(step, discovery.server.issuer, () => begun(step, request, discovery))
}

async function begun(step: Step, request: CodeBegin, discovery: Discovery): Promise<OAuthBegun> {
  const { vault, http, endpoint, intent } = step
  const { server, places } = discovery
  if (!server.authorizationEndpoint) throw new SallyportError('oauth_metadata_invalid')
  // Whoever does not announce it might take a code without its verifier from anybody.
  if (!server.hasS256) throw new SallyportError('oauth_no_pkce')
  const search = { http, vault, server, destination: endpoint.destination }
  const chosen = await chooseClient(search, request)
  const pending = pendingOf(step, request, discovery, chosen)
  const { connectionId: id, connectionRevision: version, scope } = intent
  return {
    kind: 'begun',
    authorizeUrl: addressOf(server.authorizationEndpoint.url, pending),
    pending: vault.seal(pending, { kind: 'oauth_pending', id, scope, version }),
    expiresAt: pending.expiresAt,
    issuer: server.issuer,
    ...defined({ oauthScope: pending.oauthScope, registration: kept(step, request, chosen) }),
    places,
  }
}

function pendingOf(
  { http, endpoint, present }: Step,
  request: CodeBegin,
  { resource, server, places, origins }: Discovery,
  { client }: ChosenClient,
): OAuthPending {
  const { state, redirectUri, freshCredentialId } = request
  const sources = {
    challenged: resource.challengedScope,
    ofResource: resource.scopes,
    ofServer: server.scopes,
    wanted: request.oauthScope,
  }
  return {
    state,
    codeVerifier: randomBytes(32).toString('base64url'),
    redirectUri,
    issuer: server.issuer,
    issRequired: server.hasIss,
    tokenEndpoint: server.tokenEndpoint.url,
    client,
    resource: resource.resource,
    destination: endpoint.destination,
    freshCredentialId,
    expiresAt: http.now() + oauthFlowMs,
    places,
    server: origins,
    ...defined({
      revocationEndpoint: server.revocationEndpoint?.url,
      userinfoEndpoint: server.userinfoEndpoint?.url,
      jwksUri: server.jwksUri?.url,
      oauthScope: selectScope(sources, true),
      credentialId: present?.id,
    }),
  }
}

/** Parameters the endpoint has itself stay, ours replace those of the same name. */
function addressOf(authorizationEndpoint: string, pending: OAuthPending): string {
  const { client, redirectUri, state, resource, oauthScope, codeVerifier } = pending
  const address = new URL(authorizationEndpoint)
  const parameters = defined({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
    scope: oauthScope,
    // OpenID Connect Core 11: without it no refresh token is given.
    prompt: oauthScope?.split(' ').includes('offline_access') ? 'consent' : undefined,
  })
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  if (address.href.length > longestAddress) throw new SallyportError('oauth_metadata_invalid')
  return address.href
}

function kept(
  { vault, intent }: Step,
  request: CodeBegin,
  { registered }: ChosenClient,
): SealedOAuthClient | undefined {
  if (!registered) return undefined
  const row = { id: request.freshRegistrationId, scope: intent.scope, version: 1 }
  const seal = vault.seal(registered, { kind: 'oauth_client', ...row })
  return { ...row, seal, ...defined({ issuer: registered.issuer }) }
}

/** Https, or http toward this machine; a fragment would not come back. */
function checkRedirect({ redirectUri, clientMetadataUrl }: CodeBegin): void {
  try {
    readPlace(redirectUri, true)
    if (clientMetadataUrl === undefined) return
    const { url, scheme } = readPlace(clientMetadataUrl, false)
    if (url !== clientMetadataUrl || scheme !== 'https' || new URL(url).pathname === '/')
      throw new TypeError('no address of a client id metadata document')
  } catch (cause) {
    throw new SallyportError('bad_request', { cause })
  }
}
