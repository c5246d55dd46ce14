/** What a seal says of itself without being opened: which row it belongs to, and which key opens it. */
import type { JsonWebKey } from 'node:crypto'
import { canonicalJson } from './canonical.ts'
import { type ErrorCode, SallyportError } from './errors.ts'

export const sealKinds = [
  'endpoint',
  'credential',
  'webhook',
  'oauth_client',
  'oauth_pending',
] as const
export type SealKind = (typeof sealKinds)[number]

/** What the protected header binds a seal to. `scope` is `org`, `project:<name>` or `personal:<user id>`. */
export interface SealPlace {
  readonly kind: SealKind
  readonly id: string
  readonly scope: string
  readonly version: number
}

export interface SealHeader {
  readonly kid: string
  readonly epk: JsonWebKey
  readonly sallyport: SealPlace
}

/** All of them and no other: whoever does not understand `crit`, `zip` or `apu` must not open (RFC 7516 4.1.13). */
const headerMembers = 'alg enc epk kid sallyport'
/** Header, no encrypted key (the agreed one is used itself), initialization vector, text, tag. */
const partCount = 5
/** 16 bytes as base64url. */
const tagLength = 22

/** Reads the header without opening. Throws `seal_truncated`, `seal_unreadable`. */
export function readSealHeader(text: string): SealHeader {
  const [first = ''] = partsOf(text)
  try {
    const header = JSON.parse(Buffer.from(first, 'base64url').toString())
    const ours = Object.keys(header).sort().join(' ') === headerMembers
    if (!ours || header.alg !== 'ECDH-ES' || header.enc !== 'A256GCM')
      throw new TypeError('not our kind of seal')
    if (typeof header.kid !== 'string') throw new TypeError('no name of a key')
    return header
  } catch (cause) {
    throw new SallyportError('seal_unreadable', { cause })
  }
}

/** The parts between the dots. Throws `seal_truncated` where its end is missing, `seal_unreadable` for any other shape. */
export function partsOf(text: string): readonly string[] {
  const parts = text.split('.')
  const isCut = parts.length < partCount || (parts[4] ?? '').length < tagLength
  if (isCut) throw new SallyportError('seal_truncated')
  if (parts.length > partCount || parts[1] !== '') throw new SallyportError('seal_unreadable')
  return parts
}

/** Why a seal that says it belongs to `found` does not belong to `place`, or undefined when it does. */
export function placeProblem(found: SealPlace, place: SealPlace): ErrorCode | undefined {
  try {
    if (canonicalJson(found) === canonicalJson(place)) return undefined
  } catch {
    return 'seal_unreadable' // nested too deep, or half a surrogate pair: no place of ours
  }
  if (found?.kind !== place.kind) return 'seal_other_column'
  if (found.id !== place.id) return 'seal_other_row'
  if (found.scope !== place.scope) return 'seal_other_scope'
  return found.version === place.version ? 'seal_unreadable' : 'seal_other_version'
}
