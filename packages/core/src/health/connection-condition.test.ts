import { connectionConditions, type ErrorCode } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import type { Connection, Health, Observation } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { OAuthConnection } from '../oauth/oauth.ts'
import { conditionOf, type RecordedHealth } from './connection-condition.ts'

const now = 1_800_000_000_000
const day = 86_400_000

interface Case {
  readonly state?: Health['state']
  readonly code?: ErrorCode
  readonly oauth?: true
  /** Scopes that the server wants more. */
  readonly lacks?: readonly string[]
  readonly credential?: Credential['state']
  /** Until the token ends, when nothing renews it. */
  readonly endsIn?: number
  readonly refreshable?: true
  readonly listed?: string
  readonly listedRevision?: number
}

function recorded(given: Case): RecordedHealth {
  const { state = 'ok', code = null, listed = 'a', listedRevision = 2 } = given
  const health = { state, code, at: now }
  const isToken = given.endsIn !== undefined
  const token = {
    issuerHost: 'login.example',
    refreshable: given.refreshable === true,
    expiresAt: now + (given.endsIn ?? 0),
  }
  const clear = { bearer: true, headerNames: [], ...(isToken ? { oauth: token } : {}) }
  return {
    connection: { revision: 2, health } as unknown as Connection,
    credential: given.credential && ({ state: given.credential, clear } as unknown as Credential),
    oauth: given.oauth && ({ scopeRequired: given.lacks ?? [] } as unknown as OAuthConnection),
    observation: { connectionRevision: listedRevision, digest: listed } as Observation,
    publishedDigest: 'a',
  }
}

test.each<[string, Case, string, ErrorCode | null]>([
  ['it answers', {}, 'ok', null],
  ['nobody has looked', { state: 'unknown' }, 'unknown', null],
  [
    'its name is not found',
    { state: 'unreachable', code: 'upstream_dns' },
    'unreachable',
    'upstream_dns',
  ],
  [
    'it does not take the secret',
    { state: 'unauthorized', code: 'upstream_http_401' },
    'unauthorized',
    'upstream_http_401',
  ],
  [
    'it does not take the token',
    { state: 'unauthorized', code: 'upstream_http_401', oauth: true, credential: 'active' },
    'needs_sign_in',
    'upstream_http_401',
  ],
  ['nobody signed in', { oauth: true }, 'needs_sign_in', null],
  [
    'the server wants more rights',
    { oauth: true, credential: 'active', lacks: ['write'] },
    'needs_sign_in',
    'upstream_scope_missing',
  ],
  [
    'the sign-in is over',
    { oauth: true, credential: 'broken', state: 'unauthorized', code: 'oauth_invalid_grant' },
    'needs_sign_in',
    'oauth_invalid_grant',
  ],
  [
    'somebody else signed in',
    { oauth: true, credential: 'broken', state: 'unauthorized', code: 'account_changed' },
    'changed_account',
    'account_changed',
  ],
  [
    'it was disconnected',
    { oauth: true, credential: 'revoked', state: 'unknown' },
    'revoked',
    null,
  ],
  ['its secret was revoked', { credential: 'revoked', state: 'ok' }, 'revoked', null],
  [
    'its token ends within a day',
    { oauth: true, credential: 'active', endsIn: day },
    'expiring',
    null,
  ],
  ['its token ends later', { oauth: true, credential: 'active', endsIn: day + 1 }, 'ok', null],
  ['its token has ended', { oauth: true, credential: 'active', endsIn: 0 }, 'needs_sign_in', null],
  [
    'its token is renewed',
    { oauth: true, credential: 'active', endsIn: 0, refreshable: true },
    'ok',
    null,
  ],
  ['it lists other tools', { listed: 'b' }, 'drift', null],
  ['it listed other tools before it was edited', { listed: 'b', listedRevision: 1 }, 'ok', null],
  [
    'it lists other tools, and is away',
    { listed: 'b', state: 'unreachable', code: 'upstream_tls' },
    'unreachable',
    'upstream_tls',
  ],
  [
    'its seal does not open',
    { state: 'seal', code: 'seal_key_retired' },
    'seal',
    'seal_key_retired',
  ],
])('%s', (_, given, condition, code) => {
  expect(conditionOf(recorded(given), now)).toEqual({ condition, code })
  expect(connectionConditions).toContain(condition)
})
