import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemoryStore } from '@sallyport/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agreeOnDataKey, prepareDataKeys } from './data-key.ts'

let data: string
const own = () => join(data, 'gateway', 'data.key')
const shared = () => join(data, 'shared.key')
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sallyport-data-key-'))
  mkdirSync(join(data, 'gateway'))
})
afterEach(() => rmSync(data, { recursive: true }))

const idsOf = (file?: string) => prepareDataKeys(data, file).map(({ id }) => id)
const write = (file: string, ...bytes: number[]) =>
  writeFileSync(
    file,
    bytes.map((byte) => `${Buffer.alloc(32, byte).toString('base64url')}\n`).join(''),
  )

test('makes a key that only its owner can read, keeps it, and leaves nothing beside it', () => {
  const first = idsOf()
  expect(statSync(own()).mode & 0o777).toBe(0o600)
  expect(readFileSync(own(), 'utf8')).toMatch(/^[\w-]{43}\n$/)
  expect(idsOf()).toEqual(first)
  expect(readdirSync(join(data, 'gateway'))).toEqual(['data.key'])
})

test('a shared file is used instead, and made when it is not there', () => {
  const made = idsOf(shared())
  expect(idsOf(shared())).toEqual(made)
  expect(existsSync(own())).toBe(false)
  expect(statSync(shared()).mode & 0o777).toBe(0o600)
  write(shared(), 1, 2)
  expect(idsOf(shared())).toEqual(['3f0c0d123dcf57be', expect.stringMatching(/^[0-9a-f]{16}$/)])
})

test.each(['', '\n', 'nothing of the kind', 'AAAA', `${'A'.repeat(43)}\nhalf`])(
  'refuses a damaged file, names it, and leaves it: %j',
  (bad) => {
    writeFileSync(own(), bad)
    expect(() => prepareDataKeys(data, undefined)).toThrow(
      expect.objectContaining({
        code: 'bad_certificate',
        cause: expect.objectContaining({ message: `unusable: ${own()}` }),
      }) as Error,
    )
    expect(readFileSync(own(), 'utf8')).toBe(bad)
  },
)

test('a database is served only with the key it knows; a second one replaces it by and by', async () => {
  const store = openMemoryStore({ now: Date.now })
  const begin = (isRestored: boolean, ...bytes: number[]) => {
    write(shared(), ...bytes)
    const keys = prepareDataKeys(data, shared())
    return agreeOnDataKey(store, keys, { now: Date.now, isRestored })
  }
  const mismatch = { code: 'data_key_mismatch' }
  await begin(false, 1)
  await begin(false, 1)
  await expect(begin(false, 2)).rejects.toMatchObject(mismatch)
  await begin(false, 1, 2)
  await expect(begin(false, 2)).rejects.toMatchObject(mismatch)
  await begin(false, 2, 1)
  await expect(begin(false, 1)).rejects.toMatchObject(mismatch)
  await begin(false, 2)
  await begin(true, 3)
  await expect(begin(false, 2)).rejects.toMatchObject(mismatch)
  await begin(false, 3)
  await store.close()
})

test('of two gateways that begin together with keys of their own, one is refused', async () => {
  const store = openMemoryStore({ now: Date.now })
  const begin = (byte: number) => {
    write(shared(), byte)
    const keys = prepareDataKeys(data, shared())
    return agreeOnDataKey(store, keys, { now: Date.now, isRestored: false })
  }
  const ended = await Promise.allSettled([begin(1), begin(2)])
  expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await store.close()
})
