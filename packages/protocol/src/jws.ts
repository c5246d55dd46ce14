/** JWS compact with EdDSA on Ed25519 (RFC 7515, 8037), for batches of intents. */
import { type KeyObject, sign, verify } from 'node:crypto'

const encode = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url')

export function signJws(payload: string, kid: string, privateKey: KeyObject): string {
  const signed = `${encode(JSON.stringify({ alg: 'EdDSA', kid }))}.${encode(payload)}`
  return `${signed}.${encode(sign(null, Buffer.from(signed), privateKey))}`
}

/** The payload, or undefined unless the algorithm, the key id and the signature are right. */
export function verifyJws(jws: string, kid: string, publicKey: KeyObject): string | undefined {
  const [header, payload, signature, ...rest] = jws.split('.')
  if (header === undefined || payload === undefined || signature === undefined || rest.length > 0)
    return undefined
  if (Buffer.from(header, 'base64url').toString() !== JSON.stringify({ alg: 'EdDSA', kid }))
    return undefined
  if (publicKey.asymmetricKeyType !== 'ed25519') return undefined
  const valid = verify(
    null,
    Buffer.from(`${header}.${payload}`),
    publicKey,
    Buffer.from(signature, 'base64url'),
  )
  return valid ? Buffer.from(payload, 'base64url').toString() : undefined
}
