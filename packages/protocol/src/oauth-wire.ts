/**
 * What the acts of OAuth bring and take between gateway and worker. The gateway holds the state, the browser and the
 * database; the worker talks to the authorization server and alone sees a code verifier, a client secret or a token.
 */
import { z } from 'zod'
import type { CredentialClear } from './intent.ts'
import type { Origin } from './names.ts'

/** What an act may take from its first byte on, in milliseconds; a lease on a refresh lasts longer. */
export const oauthMs = 30_000
/** How long a person has from `oauth_begin` to `oauth_finish`, in milliseconds. */
export const oauthFlowMs = 15 * 60_000

export const tokenAuthMethods = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const
export type TokenAuthMethod = (typeof tokenAuthMethods)[number]

const id = z.string().min(1).max(64)
/** One scope, as RFC 6749 3.3 writes it. */
const scopeToken = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/)
const text = z.string().min(1).max(2_048)

/** A client that is registered already: by a person, or by an earlier `oauth_begin`. */
const sealedClient = z.strictObject({
  /** With `scope` and `version`, the row its seal is bound to. */
  id,
  scope: z.string(),
  version: z.int().positive(),
  seal: z.string(),
  /** Beside the seal: the authorization server it is registered with, where that is known. */
  issuer: text.optional(),
})
export type SealedOAuthClient = z.infer<typeof sealedClient>

/**
 * The origins of an authorization server's endpoints, as its metadata names them (`https://login.example`). Those that a
 * person signed in at are kept: another one is never followed without somebody who agrees.
 */
const oauthServer = z.strictObject({
  /** Where people are sent. */
  authorization: text.optional(),
  token: text,
  revocation: text.optional(),
})
export type OAuthServer = z.infer<typeof oauthServer>

const either = {
  /** The id of a credential that is not there yet: for the first one, and for that of another account. */
  freshCredentialId: id,
  /** Scopes wanted beside those the server asks for: granted before, or named by a refusal (step-up). */
  oauthScope: z.array(scopeToken).max(64),
  /** The issuer of before. Another one is `oauth_issuer_changed`; left out once a person has agreed to the new one. */
  expectedIssuer: text.optional(),
  /** The hosts of before, where they are known. Others are `oauth_server_changed`; left out as `expectedIssuer` is. */
  expectedServer: oauthServer.optional(),
}

/** Raw bytes of `oauth_begin`, as canonical JSON. */
export const oauthBeginSchema = z.discriminatedUnion('grant', [
  z.strictObject({
    ...either,
    grant: z.literal('authorization_code'),
    state: z.string().regex(/^[A-Za-z0-9._~-]{22,256}$/),
    /** Exactly as registered: https, or http toward this machine. */
    redirectUri: text,
    /** Where the gateway serves its client id metadata document, when it has a public https address. */
    clientMetadataUrl: text.optional(),
    /** Registered by a person: it goes before everything else. */
    client: sealedClient.optional(),
    /** Registered by earlier flows, of whatever issuer. */
    registrations: z.array(sealedClient).max(32),
    /** The id of the row for a registration that is made now. */
    freshRegistrationId: id,
  }),
  z.strictObject({ ...either, grant: z.literal('client_credentials'), client: sealedClient }),
])
export type OAuthBegin = z.infer<typeof oauthBeginSchema>

/** Raw bytes of `oauth_finish`, as canonical JSON: what the browser brought back, and what belongs to its state. */
export const oauthFinishSchema = z.strictObject({
  state: z.string(),
  /** The seal that `oauth_begin` answered with. */
  pending: z.string(),
  code: z.string().min(1).max(4_096).optional(),
  /** `error` of the authorization response; nothing else of it is of use. */
  error: z.string().max(256).optional(),
  iss: text.optional(),
})
export type OAuthFinish = z.infer<typeof oauthFinishSchema>

/** The answer to `oauth_begin` of an authorization code: raw bytes of its result, as JSON. */
export interface OAuthBegun {
  readonly kind: 'begun'
  /** Https, or http toward this machine. It holds the state and the resource. */
  readonly authorizeUrl: string
  readonly pending: string
  /** Milliseconds since 1970, worker's clock: `oauth_finish` refuses afterwards. */
  readonly expiresAt: number
  readonly issuer: string
  /** What is asked for. */
  readonly oauthScope?: string
  /** To be kept for later flows: it was made just now. Its version is 1. */
  readonly registration?: SealedOAuthClient
  /** Servers a guest must never reach by itself: metadata, authorization, token, registration, keys, user info. */
  readonly places: readonly Origin[]
}

/** Whose consent it is, compared with the credential the intent named. */
export const accountFindings = ['first', 'same', 'other', 'unproved'] as const
export type AccountFinding = (typeof accountFindings)[number]

/**
 * The answer to `oauth_finish`, `oauth_refresh` and `oauth_begin` of client credentials: a seal for the named row. It is
 * the next version of the present credential when there was none of OAuth (`first`) or the account is the same one;
 * otherwise version 1 of the fresh one, to which no old binding points.
 */
export interface OAuthGranted {
  readonly kind: 'granted'
  readonly account: AccountFinding
  readonly credentialId: string
  readonly credentialVersion: number
  readonly seal: string
  readonly clear: CredentialClear
  /** As in `OAuthBegun`; empty for a refresh. */
  readonly places: readonly Origin[]
  /** What a person has agreed to with it; left out of a refresh. */
  readonly server?: OAuthServer
}

/** The answer to `oauth_revoke`. `not_offered`: the server has no place to say it at, or takes none of our tokens there. */
export interface OAuthRevoked {
  readonly kind: 'revoked' | 'not_offered'
}

/** A client as it is registered with one authorization server. */
export interface OAuthClient {
  readonly clientId: string
  readonly clientSecret?: string
  /** PKCS 8, for `private_key_jwt`. */
  readonly privateKeyPem?: string
  /** `kid` of that key. */
  readonly keyId?: string
  readonly authMethod: TokenAuthMethod
}

/** Sealed plaintext of a client. It goes to the token endpoint of its issuer only. */
export interface OAuthClientSecret {
  /** `authMethod` is left out where the server is to say what it takes. */
  readonly client: Omit<OAuthClient, 'authMethod'> & { readonly authMethod?: TokenAuthMethod }
  /** At least one of both is there: */
  readonly issuer?: string
  /** origin and path of the MCP servers it may be used for. */
  readonly destinations?: readonly string[]
  /** Of a registration made by a flow: what it was registered for. */
  readonly redirectUri?: string
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
}

/** Whose grant it is, as far as the authorization server said. */
export interface OAuthAccount {
  /** By the name of the claim. */
  readonly ids: Readonly<Record<string, string>>
  /** For people. */
  readonly label?: string
}

/** The OAuth part of a credential's plaintext. Its access token is the credential's `token`. */
export interface OAuthBundle {
  readonly grant: 'authorization_code' | 'client_credentials'
  readonly refreshToken?: string
  /** Milliseconds since 1970, worker's clock; of the access token. */
  readonly expiresAt?: number
  readonly issuer: string
  readonly tokenEndpoint: string
  /** Where it is told that the grant is over. */
  readonly revocationEndpoint?: string
  readonly client: OAuthClient
  readonly resource: string
  /** What was agreed to: no later answer may name more. Undefined while the server has not said. */
  readonly agreedScope?: string
  /** Of the present access token. */
  readonly oauthScope?: string
  readonly account?: OAuthAccount
}

/** Sealed plaintext between `oauth_begin` and `oauth_finish`, bound to connection and revision. */
export interface OAuthPending {
  readonly state: string
  readonly codeVerifier: string
  readonly redirectUri: string
  readonly issuer: string
  /** The server announced `iss` in its answers. */
  readonly issRequired: boolean
  readonly tokenEndpoint: string
  readonly revocationEndpoint?: string
  readonly userinfoEndpoint?: string
  readonly jwksUri?: string
  readonly client: OAuthClient
  readonly resource: string
  readonly oauthScope?: string
  /** Origin and path of the MCP server. */
  readonly destination: string
  /** The credential that was there when it began, if there was one. */
  readonly credentialId?: string
  readonly freshCredentialId: string
  readonly expiresAt: number
  readonly places: readonly Origin[]
  /** Left out by workers of before. */
  readonly server?: OAuthServer
}
