/** The written form of vault keys: PEM, the newest first; lines of our own say when one was made, and which are retired. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SallyportError } from '@sallyport/protocol'
import { thumbprint, type VaultKey, type VaultPublicKey } from '@sallyport/protocol/node'

export interface HeldVaultKey extends VaultKey {
  /** Milliseconds since 1970; null when the text does not say. */
  readonly madeAt: number | null
}

export interface FoundKeys {
  /** Newest first. */
  readonly keys: readonly HeldVaultKey[]
  readonly retired: readonly string[]
}

const block =
  /(?:# made (\S+)\n)?(-----BEGIN PRIVATE KEY-----\s[A-Za-z0-9+/=\s]+-----END PRIVATE KEY-----)/g
const retiredLine = /^# retired (\S+)/gm

/** What is no key and none of our lines is passed over, but text without any of them is refused. */
export function readKeyText(text: string): FoundKeys {
  const blocks = [...text.matchAll(block)]
  const retired = [...text.matchAll(retiredLine)].map(([, kid = '']) => kid)
  if (text.trim() !== '' && blocks.length === 0 && retired.length === 0)
    throw unusable('there is no private key in it')
  return { keys: blocks.map(([, made, pem = '']) => keyOf(pem, made)), retired }
}

export function makeKey(madeAt: number): HeldVaultKey {
  const { privateKey } = generateKeyPairSync('x25519')
  return { ...vaultKeyOf(privateKey), madeAt }
}

export function writeKeyText({ privateKey, madeAt }: HeldVaultKey): string {
  const made = madeAt === null ? '' : `# made ${new Date(madeAt).toISOString()}\n`
  return made + privateKey.export({ type: 'pkcs8', format: 'pem' })
}

export function retiredText(kid: string, at: number): string {
  return `# retired ${kid} ${new Date(at).toISOString()}\n`
}

/** The cause is for the log: words of ours and of the system, never what was read. */
export function unusable(because: string): SallyportError {
  return new SallyportError('vault_key_unusable', { cause: new Error(because) })
}

function keyOf(pem: string, made: string | undefined): HeldVaultKey {
  const madeAt = made === undefined ? Number.NaN : Date.parse(made)
  return { ...vaultKeyOf(parse(pem)), madeAt: Number.isNaN(madeAt) ? null : madeAt }
}

function parse(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    throw unusable('a private key in it cannot be read')
  }
}

function vaultKeyOf(privateKey: KeyObject): VaultKey {
  if (privateKey.asymmetricKeyType !== 'x25519') throw unusable('a key in it is not an X25519 key')
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' }) as VaultPublicKey['jwk']
  return { kid: thumbprint(jwk), jwk: { kty: 'OKP', crv: 'X25519', x: jwk.x }, privateKey }
}
