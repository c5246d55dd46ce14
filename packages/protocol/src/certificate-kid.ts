import { createHash, type KeyObject } from 'node:crypto'

/** Names the key that signs batches: base64url of the SHA-256 of the public key of the certificate (SPKI, DER). */
export function certificateKid(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
}
