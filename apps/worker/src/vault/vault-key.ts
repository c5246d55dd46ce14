/** The key that opens seals. It comes by a descriptor whose file the gateway opened and never read. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { closeSync, fsyncSync, readFileSync, writeSync } from 'node:fs'
import { thumbprint, type VaultKey, type VaultPublicKey } from '@sallyport/protocol/node'

const block = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/g

/**
 * Newest first, at least one. An empty file gets a new key, which is on the disk when this returns. Closes the
 * descriptor. Throws when the descriptor cannot be used or holds anything but X25519 keys.
 */
export function loadVaultKeys(descriptor: number): VaultKey[] {
  try {
    const text = readFileSync(descriptor, 'utf8')
    if (text.trim() === '') return [createKey(descriptor)]
    const keys = [...text.matchAll(block)].map(([pem]) => vaultKey(createPrivateKey(pem)))
    if (keys.length === 0) throw new TypeError('no private key in the vault file')
    return keys
  } finally {
    closeSync(descriptor)
  }
}

function createKey(descriptor: number): VaultKey {
  const { privateKey } = generateKeyPairSync('x25519')
  writeSync(descriptor, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0)
  fsyncSync(descriptor)
  return vaultKey(privateKey)
}

function vaultKey(privateKey: KeyObject): VaultKey {
  if (privateKey.asymmetricKeyType !== 'x25519') throw new TypeError('not an X25519 key')
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as VaultPublicKey['jwk']
  return { kid: thumbprint(jwk), jwk: { kty: 'OKP', crv: 'X25519', x: jwk.x }, privateKey }
}
