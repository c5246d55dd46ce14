import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { parseUpOptions, UsageError } from './options.ts'

const parse = (args: string, env: NodeJS.ProcessEnv = {}) =>
  parseUpOptions(args === '' ? [] : args.split(' '), env)

test('binds to loopback with the next port for guests, and allows no local upstreams, by default', () => {
  expect(parse('', { HOME: '/home/ada' })).toMatchObject({
    dataDir: '/home/ada/.local/share/sallyport',
    host: '127.0.0.1',
    port: 7400,
    guestPort: 'next',
    databaseUrl: undefined,
    localUpstreams: false,
    isRestored: false,
    json: false,
  })
})

test('takes the data folder from the flag, then SALLYPORT_DATA, then XDG', () => {
  const env = { SALLYPORT_DATA: '/srv/a', XDG_DATA_HOME: '/srv/x' }
  expect(parse('--data /srv/b', env)?.dataDir).toBe('/srv/b')
  expect(parse('', env)?.dataDir).toBe('/srv/a')
  expect(parse('', { XDG_DATA_HOME: '/srv/x' })?.dataDir).toBe('/srv/x/sallyport')
})

test('asks for help by answering nothing', () => {
  expect(parse('--help')).toBeUndefined()
})

test.each([
  ['--port 70000', 'not a port'],
  ['--port 74x', 'not a port'],
  ['--guest-port -1', ''],
  ['--nonsense', ''],
  ['stray', ''],
  ['--database mysql://x', 'postgres'],
  ['--behind-tls', '--public-url'],
  ['--public-url nonsense', 'no URL'],
  ['--tls-cert a.pem', 'go together'],
])('%s is a mistake in usage', (args, words) => {
  expect(() => parse(args)).toThrow(UsageError)
  expect(() => parse(args)).toThrow(words)
})

test('listens beyond this machine only with TLS, or behind it', () => {
  expect(() => parse('--host 0.0.0.0')).toThrow(expect.objectContaining({ code: 'tls_required' }))
  expect(parse('--host 0.0.0.0 --behind-tls --public-url https://x.example/')).toMatchObject({
    publicUrl: 'https://x.example',
  })
  for (const host of ['127.0.0.1', '::1', 'localhost'])
    expect(parse(`--host ${host}`)).toMatchObject({ host })
})

test('parses certificate and key before anything is started', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-options-'))
  const [cert, key, bad] = ['c.pem', 'k.pem', 'bad.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const { certificatePem, privateKeyPem } = createAuthority({ commonName: 'x', days: 1 })
  writeFileSync(cert, certificatePem)
  writeFileSync(key, privateKeyPem)
  writeFileSync(bad, 'no certificate')
  expect(parse(`--host 0.0.0.0 --tls-cert ${cert} --tls-key ${key}`)?.tls?.cert).toBe(
    certificatePem,
  )
  for (const args of [
    `--tls-cert ${bad} --tls-key ${key}`,
    `--tls-cert ${cert} --tls-key ${folder}/none`,
  ])
    expect(() => parse(args)).toThrow(expect.objectContaining({ code: 'bad_certificate' }))
  rmSync(folder, { recursive: true })
})
