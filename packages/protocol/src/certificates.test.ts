import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { certificateKid } from './certificate-kid.ts'
import { certificateRole, createAuthority, issueCertificate } from './certificates.ts'

const authority = createAuthority({ commonName: 'Sallyport authority', days: 30 })
const leaf = (role: 'gateway' | 'worker' | 'operator', days = 7) =>
  issueCertificate({ authority, role, commonName: `sallyport ${role}`, days })

function opensslVerify(certificatePem: string, authorityPem: string, purpose: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-certificates-'))
  try {
    writeFileSync(join(folder, 'ca.pem'), authorityPem)
    writeFileSync(join(folder, 'leaf.pem'), certificatePem)
    const options = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', 'ca.pem', 'leaf.pem']
    return execFileSync('openssl', options, { cwd: folder, stdio: 'pipe' }).toString().trim()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('openssl accepts both kinds of leaf in strict mode, each for its own purpose only', () => {
  const gateway = leaf('gateway').certificatePem
  const worker = leaf('worker').certificatePem
  expect(opensslVerify(gateway, authority.certificatePem, 'sslclient')).toBe('leaf.pem: OK')
  expect(opensslVerify(worker, authority.certificatePem, 'sslserver')).toBe('leaf.pem: OK')
  expect(() => opensslVerify(gateway, authority.certificatePem, 'sslserver')).toThrow()
  expect(() => opensslVerify(worker, authority.certificatePem, 'sslclient')).toThrow()
})

test('openssl refuses a leaf of another authority and an expired one', () => {
  const other = createAuthority({ commonName: 'Sallyport authority', days: 30 })
  const { certificatePem } = leaf('gateway')
  expect(() => opensslVerify(certificatePem, other.certificatePem, 'sslclient')).toThrow()
  const expired = leaf('gateway', -1).certificatePem
  expect(() => opensslVerify(expired, authority.certificatePem, 'sslclient')).toThrow()
})

test('the private key belongs to the certificate, which the authority signed', () => {
  const { certificatePem, privateKeyPem } = leaf('operator')
  const parsed = new X509Certificate(certificatePem)
  expect(parsed.checkPrivateKey(createPrivateKey(privateKeyPem))).toBe(true)
  expect(parsed.verify(new X509Certificate(authority.certificatePem).publicKey)).toBe(true)
  expect(parsed.subject).toBe('CN=sallyport operator')
  expect(parsed.issuer).toBe('CN=Sallyport authority')
  expect(parsed.ca).toBe(false)
  expect(new X509Certificate(authority.certificatePem).ca).toBe(true)
})

test('a leaf carries its role as its only name', () => {
  const { subjectAltName } = new X509Certificate(leaf('gateway').certificatePem)
  expect(subjectAltName).toBe('URI:sallyport://role/gateway')
  expect(certificateRole(subjectAltName)).toBe('gateway')
  expect(certificateRole('URI:sallyport://role/gateway, DNS:elsewhere')).toBeUndefined()
  expect(certificateRole(undefined)).toBeUndefined()
})

test('validity follows the clock, beyond 2049 too', () => {
  const now = Date.parse('2026-11-30T12:00:00Z')
  const short = issueCertificate({ authority, role: 'gateway', commonName: 'g', days: 1, now })
  const parsed = new X509Certificate(short.certificatePem)
  expect(new Date(parsed.validFrom).toISOString()).toBe('2026-11-30T11:55:00.000Z')
  expect(new Date(parsed.validTo).toISOString()).toBe('2026-12-01T12:00:00.000Z')
  const long = createAuthority({ commonName: 'long', days: 365 * 30, now })
  expect(new X509Certificate(long.certificatePem).validTo).toContain('2056')
})

test('refuses a common name that notations of names would escape', () => {
  expect(() => createAuthority({ commonName: 'a, CN=b', days: 1 })).toThrow(TypeError)
})

test('the key id is the hash of the public key of the certificate', () => {
  const { publicKey } = new X509Certificate(leaf('gateway').certificatePem)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  expect(certificateKid(publicKey)).toBe(createHash('sha256').update(spki).digest('base64url'))
})
