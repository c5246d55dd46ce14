/** Does one step of OAuth and tells what became of it. */
import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import {
  digestBytes,
  type OAuthBegun,
  type OAuthGranted,
  type OAuthIntent,
  type OAuthRevoked,
  oauthBeginSchema,
} from '@sallyport/protocol/node'
import type { Luggage } from '../orders/order.ts'
import { notSent, type Outcome } from '../orders/outcome.ts'
import type { Vault } from '../vault/vault.ts'
import { beginClientCredentials } from './begin-client-credentials.ts'
import { beginCode } from './begin-code.ts'
import { finish } from './finish.ts'
import { type OAuthDialer, OAuthHttp } from './oauth-http.ts'
import { refresh } from './refresh.ts'
import { revoke } from './revoke.ts'
import type { ServerCache } from './server-cache.ts'
import { readRequest, type Step } from './step.ts'

export interface OAuthOptions {
  readonly intent: OAuthIntent
  readonly luggage: Luggage
  readonly vault: Vault
  readonly dialer: OAuthDialer
  /** Of this worker. */
  readonly servers: ServerCache
  /** The last word before the first byte; a code keeps it from leaving. */
  readonly pass: () => ErrorCode | undefined
}

/** Never rejects. `uncertain`: the authorization server may have acted, and what it answered is not known. */
export async function performOAuth(options: OAuthOptions): Promise<Outcome> {
  let http: OAuthHttp | undefined
  try {
    const { intent, luggage, vault, dialer, servers, pass } = options
    const sealed = { endpoint: luggage.endpoint, credential: luggage.credential }
    const { endpoint, credential } = vault.openOAuth(intent, sealed)
    http = new OAuthHttp({ dialer, endpoint, subject: intent.connectionId, pass })
    const present = credential && presentOf(intent, credential)
    const { raw: request } = luggage
    const answer = await take({ intent, raw: request, http, servers, vault, endpoint, present })
    const raw = Buffer.from(JSON.stringify(answer))
    return { head: { verdict: 'result', digest: digestBytes(raw), bytes: raw.length }, raw }
  } catch (thrown) {
    return failure(toSallyportError(thrown).code, http?.isSent ?? false)
  }
}

function take(step: Step): Promise<OAuthBegun | OAuthGranted | OAuthRevoked> {
  switch (step.intent.act) {
    case 'oauth_begin': {
      const request = readRequest(oauthBeginSchema, step.raw)
      return request.grant === 'authorization_code'
        ? beginCode(step, request)
        : beginClientCredentials(step, request)
    }
    case 'oauth_finish':
      return finish(step)
    case 'oauth_refresh':
      return refresh(step)
    case 'oauth_revoke':
      return revoke(step)
  }
}

function presentOf(
  { credentialId, credentialVersion }: OAuthIntent,
  secret: NonNullable<Step['present']>['secret'],
): Step['present'] {
  if (credentialId === undefined || credentialVersion === undefined)
    throw new SallyportError('seal_mismatch')
  return { id: credentialId, version: credentialVersion, secret }
}

/** No answer, or one that nobody understands: what the server did is not known. */
const unknowable = /^(?:upstream_|oauth_unavailable$|oauth_protocol$|internal$)/

function failure(code: ErrorCode, isSent: boolean): Outcome {
  if (!isSent) return notSent(code)
  return { head: { verdict: unknowable.test(code) ? 'uncertain' : 'result', code } }
}
