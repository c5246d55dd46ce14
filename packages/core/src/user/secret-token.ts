import { type Digest, digestBytes } from '@sallyport/protocol/node'

/** A bearer: 32 random bytes in base64url. Its text is shown once; only the hash is kept. */
export interface SecretToken {
  readonly secret: string
  readonly hash: Digest
}

export function newSecretToken(random: (size: number) => Uint8Array): SecretToken {
  const secret = Buffer.from(random(32)).toString('base64url')
  return { secret, hash: hashToken(secret) }
}

export function hashToken(secret: string): Digest {
  return digestBytes(secret)
}
