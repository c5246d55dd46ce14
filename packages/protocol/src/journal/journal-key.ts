/** Keys of the journal: each gateway's data folder has one. It signs checkpoints and the beginning of streams. */
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

export interface JournalSigner {
  readonly kid: string
  readonly jwk: JournalJwk
  readonly privateKey: KeyObject
}

/** A key is named by itself, so that none can be put in another's place. */
export const journalKid = (jwk: JournalJwk): string => thumbprint(jwk)

export function signJournal(content: unknown, { kid, privateKey }: JournalSigner): string {
  return signJws(JSON.stringify(content), kid, privateKey)
}

export type Opened =
  | { readonly content: unknown }
  | { readonly problem: 'key_unknown'; readonly kid: string }
  | { readonly problem: 'changed' }

/** What a key has signed. */
export interface KeyUse {
  readonly kid: string
  readonly checkpoints: number
  /** Beginnings of streams. */
  readonly streams: number
}

interface Known {
  readonly key: KeyObject
  readonly signed: { checkpoints: number; streams: number }
}

/** The public keys that are known so far. */
export class KeyRing {
  readonly #keys = new Map<string, Known>()

  /** False for a key that is not the one its id names. */
  add(kid: string, jwk: JournalJwk): boolean {
    if (journalKid(jwk) !== kid) return false
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    if (!this.#keys.has(kid)) this.#keys.set(kid, { key, signed: { checkpoints: 0, streams: 0 } })
    return true
  }

  /** Keys that signed something. */
  uses(): KeyUse[] {
    const uses = [...this.#keys].map(([kid, { signed }]) => ({ kid, ...signed }))
    return uses.filter(({ checkpoints, streams }) => checkpoints + streams > 0)
  }

  open(jws: string, as: 'checkpoints' | 'streams'): Opened {
    const kid = kidOf(jws)
    const known = kid === undefined ? undefined : this.#keys.get(kid)
    if (kid === undefined) return { problem: 'changed' }
    if (!known) return { problem: 'key_unknown', kid }
    const payload = verifyJws(jws, kid, known.key)
    if (payload === undefined || !isExact(jws)) return { problem: 'changed' }
    known.signed[as]++
    return { content: JSON.parse(payload) }
  }
}

function kidOf(jws: string): string | undefined {
  try {
    const header = JSON.parse(Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString())
    return typeof header.kid === 'string' ? header.kid : undefined
  } catch {
    return undefined
  }
}

/** Readers of base64 are lenient: the same bytes have other spellings, of which only one was signed and hashed. */
function isExact(jws: string): boolean {
  const parts = jws.split('.')
  return parts.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}
