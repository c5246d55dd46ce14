import type { DenySet } from './deny-set.ts'
import { type Digest, digestOf } from './digest.ts'

/** Names one set: whoever enforces it confirms by revision and this. */
export function denySetDigest(revision: number, entries: DenySet['entries']): Digest {
  return digestOf({ revision, entries })
}
