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
import { partsOf, placeProblem, readSealHeader, type SealPlace } from './seal-header.ts'

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
  return sealBytes(Buffer.from(JSON.stringify(plaintext)), place, key)
}

function sealBytes(plaintext: Buffer, place: SealPlace, key: VaultPublicKey): string {
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
  const text = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return `${header}..${encode(iv)}.${encode(text)}.${encode(cipher.getAuthTag())}`
}

/** No key was retired. */
const none: ReadonlySet<string> = new Set()

/**
 * Opens a seal that must belong to `place`; `retired` are the names of keys that opened seals once and are gone. Throws
 * `seal_truncated`; `seal_other_column`, `seal_other_row`, `seal_other_scope`, `seal_other_version`; `seal_key_retired`,
 * `seal_key_unknown`; `seal_unreadable` for any other damage.
 */
export function openSeal(
  text: string,
  place: SealPlace,
  keys: readonly VaultKey[],
  retired = none,
): unknown {
  const opened = openBytes(text, place, keys, retired)
  try {
    return JSON.parse(opened.toString())
  } catch (cause) {
    throw new SallyportError('seal_unreadable', { cause })
  } finally {
    opened.fill(0)
  }
}

/** The same plaintext for the same place, sealed to another key. Throws as `openSeal`. */
export function reseal(
  text: string,
  place: SealPlace,
  to: VaultPublicKey,
  keys: readonly VaultKey[],
  retired = none,
): string {
  const opened = openBytes(text, place, keys, retired)
  try {
    return sealBytes(opened, place, to)
  } finally {
    opened.fill(0)
  }
}

function openBytes(
  text: string,
  place: SealPlace,
  keys: readonly VaultKey[],
  retired: ReadonlySet<string>,
): Buffer {
  const { kid, epk, sallyport } = readSealHeader(text)
  const problem = placeProblem(sallyport, place)
  if (problem) throw new SallyportError(problem)
  const key = keys.find((candidate) => candidate.kid === kid)
  if (!key) throw new SallyportError(retired.has(kid) ? 'seal_key_retired' : 'seal_key_unknown')
  try {
    return decipher(text, epk, key)
  } catch (cause) {
    throw new SallyportError('seal_unreadable', { cause })
  }
}

function decipher(text: string, epk: JsonWebKey, { privateKey }: VaultKey): Buffer {
  const [header = '', , iv = '', body = '', tag = ''] = partsOf(text)
  const publicKey = createPublicKey({ key: epk, format: 'jwk' })
  const shared = diffieHellman({ privateKey, publicKey })
  const nonce = Buffer.from(iv, 'base64url')
  const options = { authTagLength: 16 }
  const cipher = createDecipheriv('aes-256-gcm', deriveKey(shared), nonce, options)
  cipher.setAAD(Buffer.from(header))
  cipher.setAuthTag(Buffer.from(tag, 'base64url'))
  return Buffer.concat([cipher.update(Buffer.from(body, 'base64url')), cipher.final()])
}
