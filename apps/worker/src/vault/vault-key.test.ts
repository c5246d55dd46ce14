import { generateKeyPairSync } from 'node:crypto'
import { fstatSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadVaultKeys } from './vault-key.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-vault-'))
  file = join(folder, 'vault.key')
})
afterEach(() => rmSync(folder, { recursive: true }))

function load(text: string) {
  writeFileSync(file, text, { flag: 'w', mode: 0o600 })
  return loadVaultKeys(openSync(file, 'r+'))
}

const pem = (type: 'x25519' | 'ed25519') =>
  generateKeyPairSync(type as 'x25519')
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()

test('an empty file gets a key, which is read the next time', () => {
  const [made] = load('')
  expect(made?.jwk).toEqual({ kty: 'OKP', crv: 'X25519', x: expect.any(String) })
  const [read, ...others] = loadVaultKeys(openSync(file, 'r+'))
  expect(read?.kid).toBe(made?.kid)
  expect(others).toEqual([])
  expect(readFileSync(file, 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/)
})

test('several keys are read in their order, the newest first', () => {
  const [first, second] = [pem('x25519'), pem('x25519')]
  const keys = load(`# newest\n${first}\n${second}`)
  expect(keys).toHaveLength(2)
  expect(load(second)[0]?.kid).toBe(keys[1]?.kid)
})

test('anything but such keys is refused, and is not written over', () => {
  for (const text of ['hello', pem('ed25519')]) {
    expect(() => load(text)).toThrow(TypeError)
    expect(readFileSync(file, 'utf8')).toBe(text)
  }
})

test('the descriptor is closed', () => {
  writeFileSync(file, '')
  const descriptor = openSync(file, 'r+')
  loadVaultKeys(descriptor)
  expect(() => fstatSync(descriptor)).toThrow('EBADF')
})
