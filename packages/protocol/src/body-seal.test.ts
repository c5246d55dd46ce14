import { createCipheriv, createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { bodySealer, dataKey } from './body-seal.ts'
import type { ExecutionId } from './ids.ts'

const one = dataKey(Buffer.alloc(32, 1))
const two = dataKey(Buffer.alloc(32, 2))
const id = 'exe_01jd0000000000000000000001' as ExecutionId
const other = 'exe_01jd0000000000000000000002' as ExecutionId
const unreadable = expect.objectContaining({ code: 'row_unreadable' })
const sealer = bodySealer([one])

test('opens to the bytes that were sealed, of any size', () => {
  for (const plain of ['', '{"a":1}', 'ü\u{202e}', 'x'.repeat(1_000_000)])
    expect(sealer.open(id, 'arguments', sealer.seal(id, 'arguments', plain)).toString()).toBe(plain)
  const bytes = Buffer.from([0, 255, 128, 10])
  expect(sealer.open(id, 'result', sealer.seal(id, 'result', bytes))).toEqual(bytes)
})

test('hides what it holds, and no two seals are alike', () => {
  const seals = [1, 2].map(() => Buffer.from(sealer.seal(id, 'arguments', 'a secret word')))
  expect(seals[0]?.includes('secret')).toBe(false)
  expect(seals[0]).not.toEqual(seals[1])
})

test('moved to another execution or kind it does not open', () => {
  const sealed = sealer.seal(id, 'arguments', '{}')
  expect(sealer.open(id, 'arguments', sealed).toString()).toBe('{}')
  expect(() => sealer.open(other, 'arguments', sealed)).toThrow(unreadable)
  expect(() => sealer.open(id, 'result', sealed)).toThrow(unreadable)
})

test('with any byte changed, or cut at any place, it does not open', () => {
  const sealed = Buffer.from(sealer.seal(id, 'result', 'ok'))
  for (let at = 0; at < sealed.length; at++) {
    const flipped = Buffer.from(sealed)
    flipped[at] = (flipped[at] ?? 0) ^ 1
    expect(() => sealer.open(id, 'result', flipped), `byte ${at}`).toThrow(unreadable)
    expect(() => sealer.open(id, 'result', sealed.subarray(0, at)), `${at} bytes`).toThrow(
      unreadable,
    )
  }
})

test('the first key seals, all open, a key that is not there does not', () => {
  const both = bodySealer([two, one])
  const old = sealer.seal(id, 'result', 'old')
  const next = both.seal(id, 'result', 'new')
  expect(both.open(id, 'result', old).toString()).toBe('old')
  expect(bodySealer([two]).open(id, 'result', next).toString()).toBe('new')
  expect(() => sealer.open(id, 'result', next)).toThrow(unreadable)
})

test('a key is 32 bytes, and its id says nothing of it', () => {
  for (const size of [0, 16, 31, 33]) expect(() => dataKey(Buffer.alloc(size))).toThrow(TypeError)
  expect(one.id).toBe('3f0c0d123dcf57be')
  expect(two.id).not.toBe(one.id)
})

test('opens what this format is, made without us', () => {
  const key = Buffer.alloc(32, 1)
  const digest = createHash('sha256').update('sallyport data key\0').update(key).digest()
  const head = Buffer.concat([Buffer.of(1), digest.subarray(0, 8)])
  const nonce = Buffer.alloc(12, 7)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.concat([head, Buffer.from(`arguments ${id}`)]))
  const text = Buffer.concat([cipher.update('{"n":1}'), cipher.final()])
  const sealed = Buffer.concat([head, nonce, text, cipher.getAuthTag()])
  expect(sealer.open(id, 'arguments', sealed).toString()).toBe('{"n":1}')
})
