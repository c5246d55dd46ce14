/** `oauth_finish`: what the browser brought back becomes a credential. */
import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import {
  checkOAuthClient,
  type OAuthBundle,
  type OAuthFinish,
  type OAuthGranted,
  type OAuthPending,
  oauthFinishSchema,
} from '@sallyport/protocol/node'
import { isClient } from '../vault/read-oauth.ts'
import { defined } from './defined.ts'
import { rowFor, sealGrant } from './grant-credential.ts'
import { withServer } from './known-server.ts'
import { observeAccount } from './observe-account.ts'
import { refusalOf, requestToken } from './request-token.ts'
import { readRequest, type Step } from './step.ts'

/** Rejects with `oauth_*`, `upstream_*`, `bad_request`, `destination_refused`. */
export async function finish(step: Step): Promise<OAuthGranted> {
  const { http, present } = step
  const request = readRequest(oauthFinishSchema, step.raw)
  const pending = openPending(step, request.pending)
  checkFlow(step, pending, request)
  const code = codeOf(pending, request)
  const { issuer, tokenEndpoint, revocationEndpoint, client, resource, places, server } = pending
  const place = { issuer, tokenEndpoint, client }
  const parameters = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: pending.redirectUri,
    code_verifier: pending.codeVerifier,
    resource,
  }
  const answer = await withServer(step, issuer, () => requestToken(http, place, parameters))
  const { expiresAt, refreshToken } = answer
  const oauthScope = answer.oauthScope ?? pending.oauthScope
  const account = await observeAccount(http, pending, answer)
  const bundle: OAuthBundle = {
    grant: 'authorization_code',
    ...place,
    resource,
    ...defined({ revocationEndpoint, refreshToken, expiresAt, oauthScope, account }),
    ...defined({ agreedScope: oauthScope }),
  }
  const grant = { accessToken: answer.accessToken, bundle, places, ...defined({ server }) }
  return sealGrant(step, grant, rowFor(present, bundle, pending.freshCredentialId))
}

/** One that was sealed for another connection, revision or scope, or by somebody else, was never begun here. */
function openPending({ vault, intent }: Step, seal: string): OAuthPending {
  const { connectionId: id, connectionRevision: version, scope } = intent
  try {
    const pending = vault.openSecret(seal, { kind: 'oauth_pending', id, scope, version })
    if (!isPending(pending)) throw new TypeError('not what a worker seals')
    checkOAuthClient(pending.client)
    return pending
  } catch (cause) {
    throw new SallyportError('oauth_flow_over', { cause })
  }
}

function isPending(pending: unknown): pending is OAuthPending {
  const { client, expiresAt, places, ...rest } = (pending ?? {}) as Partial<OAuthPending>
  const texts = [
    ...[rest.state, rest.codeVerifier, rest.redirectUri, rest.issuer, rest.tokenEndpoint],
    ...[rest.resource, rest.destination, rest.freshCredentialId],
  ]
  const isWhole = texts.every((text) => typeof text === 'string')
  return isWhole && isClient(client) && Number.isSafeInteger(expiresAt) && Array.isArray(places)
}

function checkFlow({ http, endpoint, present }: Step, pending: OAuthPending, request: OAuthFinish) {
  const isThis = pending.state === request.state && pending.credentialId === present?.id
  if (!isThis || pending.expiresAt <= http.now()) throw new SallyportError('oauth_flow_over')
  if (pending.destination !== endpoint.destination) throw new SallyportError('destination_refused')
}

/**
 * RFC 9207 2.4, as MCP applies it: compared as text, also where it was not announced, before anything else of the
 * answer is believed. Without this, a server of an attacker could be given the code of another one.
 */
function codeOf({ issuer, issRequired }: OAuthPending, { iss, error, code }: OAuthFinish): string {
  const isFromIssuer = iss === undefined ? !issRequired : iss === issuer
  if (!isFromIssuer) throw new SallyportError('oauth_iss_mismatch')
  if (error !== undefined) throw new SallyportError(denialOf(error))
  if (code === undefined) throw new SallyportError('bad_request')
  return code
}

function denialOf(error: string): ErrorCode {
  return error === 'access_denied' ? 'oauth_denied' : refusalOf(error)
}
