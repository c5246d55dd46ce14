/** Tables of OAuth, by the rows of core. */
import type { OAuthConnection, OAuthFlow, RefreshLease, StoredOAuthClient } from '@sallyport/core'
import { oauthFlowStates, oauthGrants } from '@sallyport/protocol'
import { accountFindings } from '@sallyport/protocol/node'
import { errorCode, flag, integer, list, object, oneOf, orNull, text } from './column.ts'
import { table } from './table.ts'

export const oauthConnections = table<OAuthConnection>('oauth_connections', {
  connectionId: text(),
  grantType: oneOf(oauthGrants),
  scopeWanted: list(),
  scopeRequired: list(),
  clientId: orNull(text()),
  issuer: orNull(text()),
  server: orNull(object()),
  places: list(),
})

export const oauthClients = table<StoredOAuthClient>('oauth_clients', {
  id: text(),
  connectionId: orNull(text()),
  scope: text(),
  version: integer(),
  issuer: orNull(text()),
  seal: text(),
  createdAt: integer(),
})

export const oauthFlows = table<OAuthFlow>('oauth_flows', {
  id: text(),
  stateHash: text(),
  state: oneOf(oauthFlowStates),
  finisher: orNull(text()),
  connectionId: text(),
  connectionRevision: integer(),
  userId: text(),
  credentialId: orNull(text()),
  freshCredentialId: text(),
  issuer: text(),
  pending: text(),
  code: orNull(errorCode()),
  account: orNull(oneOf(accountFindings)),
  createdAt: integer(),
  expiresAt: integer(),
})

export const refreshLeases = table<RefreshLease>('refresh_leases', {
  credentialId: text(),
  credentialVersion: integer(),
  holder: text(),
  leaseUntil: integer(),
  intentId: text(),
  workerInstance: text(),
  issuedAt: integer(),
  isUnclear: flag(),
})
