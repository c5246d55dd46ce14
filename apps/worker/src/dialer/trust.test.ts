import { expect, test } from 'vitest'
import { serverCertificate } from '../testing/server-certificate.ts'
import { Trust } from './trust.ts'

const { cert } = serverCertificate('DNS:mcp.test')
const damaged = cert.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA')

test.each([
  '',
  'no certificate',
  cert.replaceAll('CERTIFICATE', 'PUBLIC KEY'),
  damaged,
  `${cert}${damaged}`,
])('a file without authorities, or with one that is damaged, is told at once (%#)', (pem) => {
  expect(() => new Trust([pem])).toThrow(expect.objectContaining({ code: 'bad_certificate' }))
  expect(() => new Trust([`# ours\n${cert}\n${cert}`])).not.toThrow()
})
