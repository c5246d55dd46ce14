import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LivePki } from './live-pki.ts'
import { preparePki, renewLeaves } from './prepare-pki.ts'

const day = 86_400_000
const start = Date.now()
let data: string

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sallyport-pki-'))
})
afterEach(() => rmSync(data, { recursive: true }))

const gatewayFile = () => join(data, 'gateway', 'gateway.pem')
const workerFile = () => join(data, 'worker', 'worker.pem')
const authorityFile = () => join(data, 'gateway', 'authority.pem')
const texts = () =>
  [authorityFile(), gatewayFile(), workerFile()].map((f) => readFileSync(f, 'utf8'))

function opensslVerify(leaf: string, purpose: string): string {
  const authority = join(data, 'worker', 'authority.pem')
  const options = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', authority, leaf]
  return execFileSync('openssl', options, { stdio: 'pipe' }).toString()
}

function refusal(act: () => unknown): { code?: string; cause?: Error } {
  try {
    act()
  } catch (thrown) {
    return thrown as { code?: string; cause?: Error }
  }
  return {}
}

test('makes an authority and two leaves that openssl accepts', () => {
  preparePki(data)
  expect(opensslVerify(gatewayFile(), 'sslclient')).toContain('OK')
  expect(opensslVerify(workerFile(), 'sslserver')).toContain('OK')
})

test('keeps every file for its owner alone and leaves no temporary one', () => {
  preparePki(data)
  expect(readdirSync(join(data, 'gateway')).sort()).toEqual(['authority.pem', 'gateway.pem'])
  expect(readdirSync(join(data, 'worker')).sort()).toEqual(['authority.pem', 'worker.pem'])
  for (const folder of ['gateway', 'worker']) {
    expect(statSync(join(data, folder)).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(join(data, folder)))
      expect(statSync(join(data, folder, name)).mode & 0o777).toBe(0o600)
  }
})

test('gives the worker neither the key of the authority nor that of the gateway', () => {
  const pki = preparePki(data)
  const worker = readdirSync(join(data, 'worker'))
    .map((name) => readFileSync(join(data, 'worker', name), 'utf8'))
    .join('')
  expect(worker.match(/PRIVATE KEY-----\n/g)).toHaveLength(2)
  expect(worker).not.toContain(pki.gateway.privateKeyPem)
})

test('hands out what TLS takes, for both sides', () => {
  const { workerFiles, gateway, authorityPem } = preparePki(data)
  const read = (path: string) => readFileSync(path, 'utf8')
  createSecureContext({
    cert: read(workerFiles.cert),
    key: read(workerFiles.key),
    ca: read(workerFiles.ca),
  })
  createSecureContext({
    cert: gateway.certificatePem,
    key: gateway.privateKeyPem,
    ca: authorityPem,
  })
})

test('a later start reads the same certificates', () => {
  const first = preparePki(data, start)
  const made = texts()
  const second = preparePki(data, start + 59 * day)
  expect(texts()).toEqual(made)
  expect(second.expiresAt).toEqual(first.expiresAt)
  expect(Math.round((first.expiresAt.gateway - start) / day)).toBe(90)
  expect(Math.round((first.expiresAt.worker - start) / day)).toBe(90)
  expect(Math.round((first.expiresAt.authority - start) / day)).toBe(3650)
})

test('issues leaves anew when less than 30 days are left, under the same authority', () => {
  preparePki(data, start)
  const [authority, gateway, worker] = texts()
  const { expiresAt } = preparePki(data, start + 61 * day)
  expect(texts()[0]).toBe(authority)
  expect(texts()[1]).not.toBe(gateway)
  expect(texts()[2]).not.toBe(worker)
  expect(Math.round((expiresAt.gateway - start) / day)).toBe(151)
})

test('replaces the authority, and with it the leaves, before a leaf could outlive it', () => {
  preparePki(data, start)
  const before = texts()
  const { expiresAt } = preparePki(data, start + 3500 * day)
  expect(texts().some((text) => before.includes(text))).toBe(false)
  expect(expiresAt.authority).toBeGreaterThan(expiresAt.gateway)
})

test('renews leaves while it runs, under the same authority however long it still lasts', () => {
  preparePki(data, start)
  const [authority, gateway, worker] = texts()
  renewLeaves(data, start + 59 * day)
  expect(texts()).toEqual([authority, gateway, worker])
  const later = renewLeaves(data, start + 3500 * day)
  expect(texts()[0]).toBe(authority)
  expect(texts()[1]).not.toBe(gateway)
  expect(texts()[2]).not.toBe(worker)
  expect(later.authorityPem).toContain('BEGIN CERTIFICATE')
})

test.skipIf(process.getuid?.() !== 0)(
  "a worker's new certificate belongs to who had the old one",
  () => {
    preparePki(data, start)
    chownSync(workerFile(), 65_534, 65_533)
    renewLeaves(data, start + 61 * day)
    expect(statSync(workerFile())).toMatchObject({ uid: 65_534, gid: 65_533 })
    expect(statSync(workerFile()).mode & 0o777).toBe(0o600)
  },
)

test.each(['worker.pem', 'authority.pem'])(
  'a pipe in the place of %s is damage, and nobody waits at it',
  (name) => {
    preparePki(data, start)
    const path = join(data, 'worker', name)
    rmSync(path)
    execFileSync('mkfifo', [path])
    const { code, cause } = refusal(() => preparePki(data, start))
    expect(code).toBe('bad_certificate')
    expect(cause?.message).toContain(path)
  },
)

test.skipIf(process.getuid?.() !== 0)(
  'where it cannot be given to them the old one stays, and every attempt says so',
  () => {
    preparePki(data, start)
    const [, , worker] = texts()
    for (const name of ['gateway', 'gateway/authority.pem', 'gateway/gateway.pem', 'worker'])
      chownSync(join(data, name), 1_000, 1_000)
    chownSync(data, 1_000, 1_000)
    chownSync(workerFile(), 65_534, 1_000)
    chmodSync(workerFile(), 0o640)
    process.setegid?.(1_000)
    process.seteuid?.(1_000)
    try {
      const renew = () => renewLeaves(data, start + 61 * day)
      for (let attempt = 0; attempt < 2; attempt++)
        expect(renew).toThrow(expect.objectContaining({ code: 'data_not_writable' }))
    } finally {
      process.seteuid?.(0)
      process.setegid?.(0)
    }
    expect(texts()[2]).toBe(worker)
    expect(statSync(workerFile()).uid).toBe(65_534)
    expect(readdirSync(join(data, 'worker'))).toHaveLength(2)
  },
)

test('without its authority nothing is renewed', () => {
  preparePki(data, start)
  rmSync(authorityFile())
  expect(refusal(() => renewLeaves(data, start + 61 * day)).code).toBe('bad_certificate')
})

test('a gateway that runs shows what was renewed, and what it has when that fails', async () => {
  const logged: unknown[][] = []
  let now = start
  const live = new LivePki({
    dataDir: data,
    pki: preparePki(data, start),
    log: { info: (...words) => logged.push(words) },
    now: () => now,
  })
  const first = live.identity()
  await live.round()
  expect(live.identity()).toEqual(first)
  now += 61 * day
  await live.round()
  const second = live.identity()
  expect(second.authorityPem).toBe(first.authorityPem)
  expect(second.certificatePem).not.toBe(first.certificatePem)
  expect(readFileSync(gatewayFile(), 'utf8')).toContain(second.certificatePem)
  expect(Math.round((live.expiresAt() - start) / day)).toBe(151)
  expect(logged.map(([fields]) => fields)).toMatchObject([{ of: 'gateway' }, { of: 'worker' }])
  rmSync(authorityFile())
  now += 61 * day
  await expect(live.round()).rejects.toMatchObject({ code: 'bad_certificate' })
  expect(live.identity()).toEqual(second)
})

test('issues a leaf anew that was made while the clock was ahead', () => {
  preparePki(data, start)
  const ahead = texts()[1]
  preparePki(data, start - 2 * day)
  expect(texts()[1]).not.toBe(ahead)
})

test('issues a leaf anew that another authority signed', () => {
  preparePki(data)
  const stranger = texts()[1]
  rmSync(authorityFile())
  preparePki(data)
  expect(texts()[1]).not.toBe(stranger)
  expect(opensslVerify(gatewayFile(), 'sslclient')).toContain('OK')
})

test('refuses a damaged file with a code and names the file', () => {
  preparePki(data)
  for (const file of [authorityFile(), gatewayFile(), workerFile()]) {
    const good = readFileSync(file, 'utf8')
    for (const bad of ['', 'nothing of the kind', good.slice(0, 200), good.slice(0, -60)]) {
      writeFileSync(file, bad)
      const { code, cause } = refusal(() => preparePki(data))
      expect(code).toBe('bad_certificate')
      expect(cause?.message).toContain(file)
    }
    writeFileSync(file, good)
  }
  preparePki(data)
})

test('refuses a key that belongs to another certificate', () => {
  preparePki(data)
  const [, gateway = '', worker = ''] = texts()
  const marker = '-----BEGIN PRIVATE KEY-----'
  writeFileSync(gatewayFile(), gateway.split(marker)[0] + marker + worker.split(marker)[1])
  expect(refusal(() => preparePki(data)).code).toBe('bad_certificate')
})

test('refuses a data folder that cannot hold the certificates', () => {
  writeFileSync(join(data, 'gateway'), 'in the way')
  expect(refusal(() => preparePki(data)).code).toBe('data_not_writable')
})
