/**
 * The signed order of a gateway to a worker. The gateway signs the ordered list of the digests of a batch; an intent
 * is proved by its place in that list. Everything the worker acts on is a claim, or bytes whose digest is a claim.
 */
import { z } from 'zod'
import { sealKinds } from './seal-header.ts'

export const acts = ['call', 'list', 'close'] as const
export type Act = (typeof acts)[number]

/** Raw bytes and answers: `oauth-wire.ts`. */
export const oauthActs = ['oauth_begin', 'oauth_finish', 'oauth_refresh', 'oauth_revoke'] as const
export type OAuthAct = (typeof oauthActs)[number]

/** The most a worker may wait from receipt to the first byte toward the upstream, in milliseconds. */
export const maxStartWithin = 15_000

/** What one attempt to deliver a webhook may take from its first byte on, in milliseconds. */
export const webhookMs = 10_000
/** The largest body of a webhook. */
export const webhookBytes = 65_536

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/)
const place = z.strictObject({
  scheme: z.enum(['https', 'http']),
  host: z.string(),
  port: z.int(),
})

/** Header names beside the seal, in the order they are sealed. */
const credentialClear = z.strictObject({
  /** There is a token. */
  bearer: z.boolean(),
  headerNames: z.array(z.string()),
  /** Its token is an access token, in a bundle that the worker sealed. */
  oauth: z
    .strictObject({
      issuerHost: z.string(),
      /** It can be had anew without a person. */
      refreshable: z.boolean(),
      /** Milliseconds since 1970, worker's clock; left out when the server did not say. */
      expiresAt: z.int().optional(),
      /** A name for people, said by the authorization server. */
      account: z.string().optional(),
      /** Of the present access token, when the server said. */
      oauthScope: z.string().optional(),
    })
    .optional(),
})
export type CredentialClear = z.infer<typeof credentialClear>

export const intentLimits = z.strictObject({
  /** Bytes of the result that are passed on; what is longer is cut where the intent says so, else reported as too large. */
  resultBytes: z.int().positive(),
  /** Milliseconds from the first byte to the complete answer. */
  callMs: z.int().positive(),
  /** Oldest listing, in milliseconds, that may prove the tool unchanged; 0 = list before this call. */
  verifyWithinMs: z.int().nonnegative(),
})

/** It is written into headers. */
const headerId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)

const anyClaims = {
  v: z.literal(1),
  id: z.string(),
  /** Milliseconds since 1970, gateway's clock. */
  iat: z.int(),
  exp: z.int(),
  startWithin: z.int().positive().max(maxStartWithin),
  /** The worker instance. */
  aud: z.string(),
}

const orderClaims = {
  ...anyClaims,
  /** As in the protected header of the seals. */
  scope: z.string(),
  endpointDigest: digest,
  endpointClear: place,
}

export const intentSchema = z.strictObject({
  ...orderClaims,
  act: z.enum(acts),
  /** Needed for a write; it is shown to the upstream, in a header too. */
  executionId: headerId.optional(),
  sessionId: z.string().optional(),
  bindingHash: digest.optional(),
  connectionId: z.string(),
  connectionRevision: z.int().positive(),
  tool: z.string().optional(),
  toolDigest: digest.optional(),
  argumentsDigest: digest.optional(),
  access: z.enum(['read', 'write']).optional(),
  approvalId: z.string().optional(),
  credentialId: z.string().optional(),
  credentialVersion: z.int().positive().optional(),
  credentialDigest: digest.optional(),
  credentialClear: credentialClear.optional(),
  /** `x-mcp-header` of the reviewed schema: header name suffix → top-level path of the argument. */
  paramHeaders: z
    .array(z.strictObject({ header: z.string(), path: z.array(z.string()) }))
    .optional(),
  /** A result over the limit is cut, with a mark: the tool has no output schema that the rest would have to meet. */
  cut: z.boolean().optional(),
  /** Progress of this call is wanted. */
  progress: z.boolean().optional(),
  limits: intentLimits,
})

/** One attempt to tell another system of an event: no connection, no tool, nothing of a guest. */
export const webhookIntentSchema = z.strictObject({
  ...orderClaims,
  act: z.literal('webhook'),
  webhookId: z.string(),
  /** Of its seal. */
  webhookVersion: z.int().positive(),
  /** The same for every attempt: who receives it twice knows it again. */
  eventId: headerId,
  /** Of the body, as it is sent. */
  argumentsDigest: digest,
})

/** A step of OAuth for one connection. The credential is the present one; a refresh and a revocation need it. */
export const oauthIntentSchema = z.strictObject({
  ...orderClaims,
  act: z.enum(oauthActs),
  connectionId: z.string(),
  connectionRevision: z.int().positive(),
  /** Of the request that travels as raw bytes; a refresh and a revocation have none. */
  argumentsDigest: digest.optional(),
  credentialId: z.string().optional(),
  credentialVersion: z.int().positive().optional(),
  credentialDigest: digest.optional(),
  credentialClear: credentialClear.optional(),
})

/** The raw bytes are a seal for this place; the answer is the same plaintext for the same place, sealed to `toKid`. */
export const resealIntentSchema = z.strictObject({
  ...anyClaims,
  act: z.literal('reseal'),
  kind: z.enum(sealKinds),
  rowId: z.string(),
  scope: z.string(),
  version: z.int().positive(),
  toKid: z.string(),
  /** Of the seal. */
  argumentsDigest: digest,
})

/** `keys`: look again where the vault key comes from. `rotate`: make a new one. The answer is a `VaultState`. */
export const keysIntentSchema = z.strictObject({ ...anyClaims, act: z.enum(['keys', 'rotate']) })

/** No seal of this key is left anywhere: it may go. The answer is a `VaultState`. */
export const retireIntentSchema = z.strictObject({
  ...anyClaims,
  act: z.literal('retire'),
  kid: z.string(),
})

/** Whatever a gateway may order. */
export const anyIntentSchema = z.discriminatedUnion('act', [
  intentSchema,
  webhookIntentSchema,
  oauthIntentSchema,
  resealIntentSchema,
  keysIntentSchema,
  retireIntentSchema,
])

export type Intent = z.infer<typeof intentSchema>
export type WebhookIntent = z.infer<typeof webhookIntentSchema>
export type OAuthIntent = z.infer<typeof oauthIntentSchema>
export type ResealIntent = z.infer<typeof resealIntentSchema>
export type KeysIntent = z.infer<typeof keysIntentSchema>
export type RetireIntent = z.infer<typeof retireIntentSchema>
export type AnyIntent = z.infer<typeof anyIntentSchema>
export type IntentLimits = z.infer<typeof intentLimits>
