/**
 * Certificates of the connection between gateway and worker: an authority of our own and short-lived leaves that carry
 * a role. Ed25519 (RFC 8410), written by hand because a library for it costs more at start than the whole gateway.
 */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { bits, integer, objectId, octets, sequence, set, tagged, time, truth, utf8 } from './der.ts'

export const certificateRoles = ['gateway', 'worker', 'operator'] as const
export type CertificateRole = (typeof certificateRoles)[number]

/** A certificate and its private key (PKCS8), both PEM. */
export interface Certified {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

export interface AuthorityOptions {
  readonly commonName: string
  readonly days: number
  /** Milliseconds since 1970; the clock of the machine by default. */
  readonly now?: number
}

export interface CertificateOptions extends AuthorityOptions {
  readonly authority: Certified
  readonly role: CertificateRole
}

const day = 86_400_000
/** Clocks of two machines differ a little; a certificate made now is valid there too. */
const backdate = 5 * 60_000

const ed25519 = sequence(objectId('1.3.101.112'))
const usage = { sign: bits(Buffer.from([0x06]), 1), digitalSignature: bits(Buffer.from([0x80]), 7) }
const purpose = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' }

export function createAuthority(options: AuthorityOptions): Certified {
  const keys = generateKeyPairSync('ed25519')
  const extensions = [
    extension('2.5.29.19', true, sequence(truth, integer(Buffer.from([0])))),
    extension('2.5.29.15', true, usage.sign),
    extension('2.5.29.14', false, octets(keyIdentifier(keys.publicKey))),
    extension('2.5.29.35', false, authorityKey(keys.publicKey)),
  ]
  return issue(options, nameOf(options.commonName), keys, keys.privateKey, extensions)
}

/** A leaf whose only name is its role: `gateway` and `operator` dial, `worker` listens. */
export function issueCertificate(options: CertificateOptions): Certified {
  const keys = generateKeyPairSync('ed25519')
  const authorityPublic = new X509Certificate(options.authority.certificatePem).publicKey
  const extensions = [
    extension('2.5.29.19', true, sequence()),
    extension('2.5.29.15', true, usage.digitalSignature),
    extension('2.5.29.37', true, sequence(objectId(purpose[purposeOf(options.role)]))),
    extension('2.5.29.17', false, sequence(tagged(0x86, Buffer.from(roleUri(options.role))))),
    extension('2.5.29.14', false, octets(keyIdentifier(keys.publicKey))),
    extension('2.5.29.35', false, authorityKey(authorityPublic)),
  ]
  const signer = createPrivateKey(options.authority.privateKeyPem)
  return issue(options, issuerName(options.authority), keys, signer, extensions)
}

/** The role a peer's certificate carries (`subjectAltName` or `subjectaltname` of Node), or undefined. */
export function certificateRole(subjectAltName: string | undefined): CertificateRole | undefined {
  return certificateRoles.find((role) => subjectAltName === `URI:${roleUri(role)}`)
}

const roleUri = (role: CertificateRole): string => `sallyport://role/${role}`
const purposeOf = (role: CertificateRole) => (role === 'worker' ? 'server' : 'client')

function issue(
  options: AuthorityOptions,
  issuer: Buffer,
  subject: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  signer: KeyObject,
  extensions: Buffer[],
): Certified {
  const now = options.now ?? Date.now()
  const notAfter = now + options.days * day
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial()),
    ed25519,
    issuer,
    sequence(time(Math.min(now - backdate, notAfter - backdate)), time(notAfter)),
    nameOf(options.commonName),
    subject.publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  )
  return {
    certificatePem: pem(sequence(body, ed25519, bits(sign(null, body, signer)))),
    privateKeyPem: subject.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** One common name, of characters that no notation of names escapes. */
function nameOf(commonName: string): Buffer {
  if (!/^[A-Za-z0-9][A-Za-z0-9 .-]{0,63}$/.test(commonName)) throw new TypeError('bad common name')
  return sequence(set(sequence(objectId('2.5.4.3'), utf8(commonName))))
}

function issuerName(authority: Certified): Buffer {
  return nameOf(new X509Certificate(authority.certificatePem).subject.replace(/^CN=/, ''))
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(objectId(id), ...(critical ? [truth] : []), octets(value))
}

/** Positive, 16 bytes, first byte never zero. */
function serial(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] as number) & 0x3f) | 0x40
  return bytes
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  const { x } = publicKey.export({ format: 'jwk' })
  const bytes = Buffer.from(x as string, 'base64url')
  return createHash('sha256').update(bytes).digest().subarray(0, 20)
}

const authorityKey = (publicKey: KeyObject): Buffer =>
  sequence(tagged(0x80, keyIdentifier(publicKey)))

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
