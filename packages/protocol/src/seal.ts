/**
 * Seals: JWE compact, ECDH-ES on X25519 with A256GCM (RFC 7516, 7518, 8037), assembled with node:crypto because the
 * worker opens them beside calls. The protected header says which row the seal belongs to, so that a seal moved to
 * another row, column, scope or version does not open there.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { canonicalJson } from './canonical.ts'
import { SallyportError } from './errors.ts'

/** What the protected header binds a seal to. `scope` is `org`, `project:<name>` or `personal:<user id>`. */
export interface SealPlace {
  readonly kind: 'endpoint' | 'credential'
  readonly id: string
  readonly scope: string
  readonly version: number
}

export interface VaultPublicKey {
  readonly kid: string
  /** X25519, `OKP`. */
  readonly jwk: { readonly kty: 'OKP'; readonly crv: 'X25519'; readonly x: string }
}

export interface VaultKey extends VaultPublicKey {
  readonly privateKey: KeyObject
}

const encode = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url')
const uint32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(n)
  return bytes
}

/** Concat KDF of RFC 7518 4.6.2, one round, empty party infos. */
function deriveKey(secret: Buffer): Buffer {
  const algorithm = Buffer.from('A256GCM')
  return createHash('sha256')
    .update(uint32(1))
    .update(secret)
    .update(uint32(algorithm.length))
    .update(algorithm)
    .update(uint32(0))
    .update(uint32(0))
    .update(uint32(256))
    .digest()
}

/** RFC 7638 thumbprint, base64url. */
export function thumbprint(jwk: {
  readonly kty: string
  readonly crv: string
  readonly x: string
}): string {
  return createHash('sha256')
    .update(canonicalJson({ crv: jwk.crv, kty: jwk.kty, x: jwk.x }))
    .digest('base64url')
}

export function seal(plaintext: unknown, place: SealPlace, key: VaultPublicKey): string {
  const ephemeral = generateKeyPairSync('x25519')
  const { x } = ephemeral.publicKey.export({ format: 'jwk' }) as { x: string }
  const header = encode(
    JSON.stringify({
      alg: 'ECDH-ES',
      enc: 'A256GCM',
      kid: key.kid,
      epk: { kty: 'OKP', crv: 'X25519', x },
      sallyport: place,
    }),
  )
  const publicKey = createPublicKey({ key: key.jwk as JsonWebKey, format: 'jwk' })
  const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey })
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(shared), iv)
  cipher.setAAD(Buffer.from(header))
  const text = Buffer.concat([cipher.update(JSON.stringify(plaintext)), cipher.final()])
  return `${header}..${encode(iv)}.${encode(text)}.${encode(cipher.getAuthTag())}`
}

interface SealHeader {
  readonly kid: string
  readonly epk: JsonWebKey
  readonly sallyport: SealPlace
}

/** All of them and no other: whoever does not understand `crit`, `zip` or `apu` must not open (RFC 7516 4.1.13). */
const headerMembers = 'alg enc epk kid sallyport'

/** Reads the header without opening. Throws `seal_unreadable`. */
export function readSealHeader(text: string): SealHeader {
  try {
    const header = JSON.parse(Buffer.from(text.split('.', 1)[0] ?? '', 'base64url').toString())
    const ours = Object.keys(header).sort().join(' ') === headerMembers
    if (!ours || header.alg !== 'ECDH-ES' || header.enc !== 'A256GCM')
      throw new TypeError('not our kind of seal')
    return header
  } catch (cause) {
    throw new SallyportError('seal_unreadable', { cause })
  }
}

function isPlace(found: SealPlace, place: SealPlace): boolean {
  try {
    return canonicalJson(found) === canonicalJson(place)
  } catch {
    return false // nested too deep, or half a surrogate pair: no place of ours
  }
}

/** Opens a seal that must belong to `place`. Throws `seal_unreadable` for a wrong key, place, or damage. */
export function openSeal(text: string, place: SealPlace, keys: readonly VaultKey[]): unknown {
  const header = readSealHeader(text)
  const key = keys.find((candidate) => candidate.kid === header.kid)
  if (!key || !isPlace(header.sallyport, place)) throw new SallyportError('seal_unreadable')
  const parts = text.split('.')
  if (parts.length !== 5 || parts[1] !== '') throw new SallyportError('seal_unreadable')
  const [protectedHeader = '', , iv = '', body = '', tag = ''] = parts
  try {
    const shared = diffieHellman({
      privateKey: key.privateKey,
      publicKey: createPublicKey({ key: header.epk, format: 'jwk' }),
    })
    const decipher = createDecipheriv(
      'aes-256-gcm',
      deriveKey(shared),
      Buffer.from(iv, 'base64url'),
      {
        authTagLength: 16,
      },
    )
    decipher.setAAD(Buffer.from(protectedHeader))
    decipher.setAuthTag(Buffer.from(tag, 'base64url'))
    const opened = Buffer.concat([
      decipher.update(Buffer.from(body, 'base64url')),
      decipher.final(),
    ])
    return JSON.parse(opened.toString())
  } catch (cause) {
    throw new SallyportError('seal_unreadable', { cause })
  }
}
