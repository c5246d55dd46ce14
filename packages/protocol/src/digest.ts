/** Every digest of the code base: SHA-256 over RFC 8785 canonical JSON, or over bytes exactly as they were sent. */
import { hash } from 'node:crypto'
import { canonicalJson } from './canonical.ts'

/** Stored beside digests; raised when the way they are made changes, so that old ones stay checkable. */
export const digestVersion = 1

export type Digest = string & { readonly __digest: true }

/** `sha256:` and 64 small hexadecimal digits, over the bytes as they are. */
export function digestBytes(bytes: string | Uint8Array): Digest {
  return `sha256:${hash('sha256', bytes)}` as Digest
}

/** Over the canonical JSON of a value. */
export function digestOf(value: unknown): Digest {
  return digestBytes(canonicalJson(value))
}

export function isDigest(text: unknown): text is Digest {
  return typeof text === 'string' && /^sha256:[0-9a-f]{64}$/.test(text)
}
