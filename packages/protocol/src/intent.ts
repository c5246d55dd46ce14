/**
 * The signed order of a gateway to a worker. The gateway signs the ordered list of the digests of a batch; an intent
 * is proved by its place in that list. Everything the worker acts on is a claim, or bytes whose digest is a claim.
 */
import { z } from 'zod'

export const acts = ['call', 'list', 'close'] as const
export type Act = (typeof acts)[number]

/** The most a worker may wait from receipt to the first byte toward the upstream, in milliseconds. */
export const maxStartWithin = 15_000

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/)
const place = z.strictObject({
  scheme: z.enum(['https', 'http']),
  host: z.string(),
  port: z.int(),
})

/** Header names beside the seal, in the order they are sealed. */
const credentialClear = z.strictObject({
  bearer: z.boolean(),
  headerNames: z.array(z.string()),
})
export type CredentialClear = z.infer<typeof credentialClear>

export const intentLimits = z.strictObject({
  /** Bytes of the result that are passed on; what is longer is reported as too large. */
  resultBytes: z.int().positive(),
  /** Milliseconds from the first byte to the complete answer. */
  callMs: z.int().positive(),
  /** Oldest listing, in milliseconds, that may prove the tool unchanged; 0 = list before this call. */
  verifyWithinMs: z.int().nonnegative(),
})

export const intentSchema = z.strictObject({
  v: z.literal(1),
  id: z.string(),
  /** Milliseconds since 1970, gateway's clock. */
  iat: z.int(),
  exp: z.int(),
  startWithin: z.int().positive().max(maxStartWithin),
  /** The worker instance. */
  aud: z.string(),
  act: z.enum(acts),
  executionId: z.string().optional(),
  sessionId: z.string().optional(),
  bindingHash: digest.optional(),
  connectionId: z.string(),
  connectionRevision: z.int().positive(),
  /** As in the protected header of the seals. */
  scope: z.string(),
  endpointDigest: digest,
  endpointClear: place,
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
  /** Progress of this call is wanted. */
  progress: z.boolean().optional(),
  limits: intentLimits,
})

export type Intent = z.infer<typeof intentSchema>
export type IntentLimits = z.infer<typeof intentLimits>
