import { createPublicKey, sign, verify } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { prepareJournalKey } from './journal-key.ts'

let data: string
const file = () => join(data, 'gateway', 'journal.key')
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sallyport-journal-key-'))
  mkdirSync(join(data, 'gateway'))
})
afterEach(() => rmSync(data, { recursive: true }))

test('makes a key that only its owner can read, and keeps it', () => {
  const first = prepareJournalKey(data)
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  const second = prepareJournalKey(data)
  expect(second.kid).toBe(first.kid)
  const text = Buffer.from('a checkpoint')
  const publicKey = createPublicKey({ key: first.jwk, format: 'jwk' })
  expect(verify(null, text, publicKey, sign(null, text, second.privateKey))).toBe(true)
})

test('makes another one when it was removed', () => {
  const { kid } = prepareJournalKey(data)
  rmSync(file())
  expect(prepareJournalKey(data).kid).not.toBe(kid)
})

test.each(['', 'nothing of the kind', 'half'])('refuses a damaged file and names it: %j', (bad) => {
  prepareJournalKey(data)
  writeFileSync(file(), bad === 'half' ? readFileSync(file(), 'utf8').slice(0, 60) : bad)
  expect(() => prepareJournalKey(data)).toThrow(
    expect.objectContaining({
      code: 'bad_certificate',
      cause: expect.objectContaining({ message: `unusable: ${file()}` }),
    }) as Error,
  )
})
