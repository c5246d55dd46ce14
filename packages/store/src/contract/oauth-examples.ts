/** Valid rows of OAuth for the contract. */
import type {
  OAuthConnection,
  OAuthFlow,
  RefreshLease,
  Scope,
  StoredOAuthClient,
} from '@sallyport/core'
import { newId, start } from './examples.ts'

export function exampleOAuthConnection(given: Partial<OAuthConnection> = {}): OAuthConnection {
  return {
    connectionId: newId('connection'),
    grantType: 'authorization_code',
    scopeWanted: ['files:read'],
    scopeRequired: [],
    clientId: null,
    issuer: null,
    server: null,
    places: [],
    ...given,
  }
}

export function exampleOAuthClient(given: Partial<StoredOAuthClient> = {}): StoredOAuthClient {
  return {
    id: newId('oauthClient'),
    connectionId: null,
    scope: 'org' as Scope,
    version: 1,
    issuer: 'https://login.example',
    seal: 'header..iv.text.tag',
    createdAt: start,
    ...given,
  }
}

export function exampleOAuthFlow(given: Partial<OAuthFlow> = {}): OAuthFlow {
  const id = newId('oauthFlow')
  return {
    id,
    stateHash: `sha256:${id}`,
    state: 'waiting',
    finisher: null,
    connectionId: newId('connection'),
    connectionRevision: 1,
    userId: newId('user'),
    credentialId: null,
    freshCredentialId: newId('credential'),
    issuer: 'https://login.example',
    pending: 'header..iv.text.tag',
    code: null,
    account: null,
    createdAt: start,
    expiresAt: start + 900_000,
    ...given,
  }
}

export function exampleRefreshLease(given: Partial<RefreshLease> = {}): RefreshLease {
  return {
    credentialId: newId('credential'),
    credentialVersion: 1,
    holder: newId('instance'),
    leaseUntil: start + 50_000,
    intentId: newId('intent'),
    workerInstance: newId('instance'),
    issuedAt: start,
    isUnclear: false,
    ...given,
  }
}
