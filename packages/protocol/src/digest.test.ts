import { expect, test } from 'vitest'
import { digestBytes, digestOf, digestVersion, isDigest } from './digest.ts'

test('digests of this version are these', () => {
  expect(digestVersion).toBe(1)
  expect(digestBytes('')).toBe(
    'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  )
  expect(digestBytes('abc')).toBe(
    'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
  expect(digestOf({ b: [1, 'é'], a: null })).toBe(
    digestBytes(new TextEncoder().encode('{"a":null,"b":[1,"é"]}')),
  )
})

test('key order and number spelling do not matter; text and its unicode form do', () => {
  expect(digestOf(JSON.parse('{"a":1.0,"b":2}'))).toBe(digestOf(JSON.parse('{"b":2e0,"a":1}')))
  expect(digestOf('é')).not.toBe(digestOf('e\u0301'))
  expect(digestOf('1')).not.toBe(digestOf(1))
})

test.each([
  [`sha256:${'0'.repeat(64)}`, true],
  [`sha256:${'A'.repeat(64)}`, false],
  [`sha256:${'0'.repeat(63)}`, false],
  [`sha256:${'0'.repeat(64)}\n`, false],
  [`sha512:${'0'.repeat(64)}`, false],
  [undefined, false],
])('%j is a digest: %s', (text, expected) => {
  expect(isDigest(text)).toBe(expected)
})
