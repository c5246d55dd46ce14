/** Judges a batch of intents: who signed it, for whom, when, and what it says. Nothing is remembered here. */
import type { KeyObject } from 'node:crypto'
import type { ErrorCode } from '@sallyport/protocol'
import {
  type AnyIntent,
  anyIntentSchema,
  batchPayload,
  type Digest,
  digestBytes,
  type IntentsHead,
  verifyJws,
} from '@sallyport/protocol/node'

/** Of the peer's certificate. */
export interface Signer {
  readonly kid: string
  readonly publicKey: KeyObject
}

export interface JudgedIntent {
  readonly id: string
  /** Undefined when it is refused. */
  readonly intent: AnyIntent | undefined
  readonly refusal: ErrorCode | undefined
}

export interface JudgedBatch {
  /** Whether the signature holds; the ids of a batch that nobody signed are not spent. */
  readonly isSigned: boolean
  /** In the order of the batch. */
  readonly intents: readonly JudgedIntent[]
}

/** Clocks of two machines may differ by as much. */
export const skewMs = 5_000
/** No intent lives longer, so an id that is fenced before it was seen need not be remembered longer. */
export const longestLifeMs = 60_000
const mostIntents = 4_096

/** Undefined when it is no batch at all: no peer of ours sends that. */
export function judgeBatch(
  head: IntentsHead,
  raw: Buffer,
  signer: Signer,
  audience: string,
  now: number,
): JudgedBatch | undefined {
  const lines = raw.toString('utf8').split('\n')
  if (lines.length > mostIntents) return undefined
  const isSigned = isSignedBatch(head, lines.map(digestBytes), signer)
  const intents: JudgedIntent[] = []
  for (const line of lines) {
    const claims = parse(line)
    if (typeof claims?.id !== 'string' || claims.id.length > 64) return undefined
    intents.push(isSigned ? judge(claims, claims.id, audience, now) : refuse(claims.id))
  }
  return { isSigned, intents }
}

function isSignedBatch(head: IntentsHead, digests: readonly Digest[], signer: Signer): boolean {
  const payload = batchPayload(digests)
  return (
    typeof head.jws === 'string' &&
    head.batch === digestBytes(payload) &&
    verifyJws(head.jws, signer.kid, signer.publicKey) === payload
  )
}

function parse(line: string): { readonly id?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function judge(claims: unknown, id: string, audience: string, now: number): JudgedIntent {
  const parsed = anyIntentSchema.safeParse(claims)
  if (!parsed.success) return refuse(id)
  const intent = parsed.data
  const { iat, exp, aud } = intent
  const isTimed = iat <= exp && exp - iat <= longestLifeMs && iat <= now + skewMs
  if (aud !== audience || !isTimed || !isWhole(intent)) return refuse(id)
  if (exp + skewMs < now) return refuse(id, 'expired')
  return { id, intent, refusal: undefined }
}

/** What an act cannot do without, and the claims that go together. */
function isWhole(intent: AnyIntent): boolean {
  if (intent.act === 'webhook' || !('connectionId' in intent)) return true
  const credential = [
    intent.credentialId,
    intent.credentialVersion,
    intent.credentialDigest,
    intent.credentialClear,
  ]
  const named = credential.filter((claim) => claim !== undefined).length
  if (named !== 0 && named !== credential.length) return false
  if (intent.act === 'oauth_refresh' || intent.act === 'oauth_revoke') return named > 0
  if (intent.act === 'oauth_begin' || intent.act === 'oauth_finish')
    return intent.argumentsDigest !== undefined
  if (intent.act !== 'call') return true
  // Without it a server that knows repetitions could not know this one.
  if (intent.access === 'write' && intent.executionId === undefined) return false
  return (
    intent.tool !== undefined &&
    intent.toolDigest !== undefined &&
    intent.argumentsDigest !== undefined &&
    intent.access !== undefined
  )
}

function refuse(id: string, refusal: ErrorCode = 'intent_refused'): JudgedIntent {
  return { id, intent: undefined, refusal }
}
