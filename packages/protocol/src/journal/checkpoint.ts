/**
 * A checkpoint: signed, in a chain of its own, it lists the head of each stream that grew since a checkpoint last
 * listed it. Together with those before it, it says where every stream stood.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { signJws, verifyJws } from '../jws.ts'
import { thumbprint } from '../seal.ts'

export const journalJwk = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string().regex(/^[\w-]{43}$/),
})
export type JournalJwk = z.infer<typeof journalJwk>

/** What signs checkpoints. */
export interface JournalSigner {
  readonly kid: string
  readonly jwk: JournalJwk
  readonly privateKey: KeyObject
}

const head = z.strictObject({
  stream: z.string(),
  sequence: z.int().positive(),
  /** Of the page that ends with this sequence. */
  hash: z.string(),
})
export type JournalHead = Readonly<z.infer<typeof head>>

const checkpoint = z.strictObject({
  v: z.literal(1),
  sequence: z.int().positive(),
  /** Digest of the JWS of the checkpoint before; null in the first. */
  previous: z.string().nullable(),
  at: z.int(),
  /** Every page that it covers is kept at this position or before. */
  position: z.int().nonnegative(),
  heads: z.array(head),
})
export type CheckpointContent = Readonly<
  Omit<z.infer<typeof checkpoint>, 'heads'> & { heads: readonly JournalHead[] }
>

export function signCheckpoint(content: CheckpointContent, signer: JournalSigner): string {
  return signJws(JSON.stringify(content), signer.kid, signer.privateKey)
}

/** The key id that a JWS names; undefined when it is none. */
export function kidOf(jws: string): string | undefined {
  try {
    const header = JSON.parse(Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString())
    return typeof header.kid === 'string' ? header.kid : undefined
  } catch {
    return undefined
  }
}

/** Undefined unless the signature is right and the content is a checkpoint. */
export function openCheckpoint(jws: string, kid: string, jwk: JournalJwk) {
  const payload = verifyJws(jws, kid, createPublicKey({ key: jwk, format: 'jwk' }))
  if (payload === undefined || !isExact(jws)) return undefined
  try {
    return checkpoint.safeParse(JSON.parse(payload)).data
  } catch {
    return undefined
  }
}

/** Readers of base64 are lenient: the same bytes have other spellings, of which only one was signed and hashed. */
function isExact(jws: string): boolean {
  return jws
    .split('.')
    .every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

/** A key is named by itself, so that none can be put in another's place. */
export const journalKid = (jwk: JournalJwk): string => thumbprint(jwk)
