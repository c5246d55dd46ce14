import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { makeKey, readKeyText, retiredText, writeKeyText } from './key-text.ts'

const pem = (type: 'x25519' | 'ed25519') =>
  generateKeyPairSync(type as 'x25519')
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()
const unusable = expect.objectContaining({ code: 'vault_key_unusable' })

test('a key is read as it was written, with the time it was made', () => {
  const key = makeKey(1_800_000_000_000)
  const text = writeKeyText(key)
  expect(text).toMatch(/^# made 2027-01-15T08:00:00.000Z\n-----BEGIN PRIVATE KEY-----\n/)
  const { keys, retired } = readKeyText(text)
  expect(keys).toMatchObject([{ kid: key.kid, jwk: key.jwk, madeAt: 1_800_000_000_000 }])
  expect(retired).toEqual([])
})

test('several keys are read in their order, the newest first, whatever stands between them', () => {
  const [first, second] = [makeKey(2), makeKey(1)]
  const text = `# from the safe\r\n${writeKeyText(first)}\n\nold:\n${writeKeyText(second)}`
  expect(readKeyText(text).keys.map(({ kid }) => kid)).toEqual([first.kid, second.kid])
  expect(readKeyText(text.replaceAll('\n', '\r\n')).keys).toHaveLength(2)
})

test('a time is not needed, nor believed when it is none', () => {
  for (const line of ['', '# made yesterday\n'])
    expect(readKeyText(line + pem('x25519')).keys).toMatchObject([{ madeAt: null }])
})

test('names of retired keys are read, also where there is no key', () => {
  const text = retiredText('k1', 0) + retiredText('k2', 0)
  expect(readKeyText(text)).toEqual({ keys: [], retired: ['k1', 'k2'] })
  expect(readKeyText(text + writeKeyText(makeKey(1))).keys).toHaveLength(1)
})

test('nothing is no key', () => {
  expect(readKeyText(' \n')).toEqual({ keys: [], retired: [] })
})

test.each([
  ['words', 'hello'],
  ['a key of another kind', pem('ed25519')],
  ['half a key', pem('x25519').slice(0, 60)],
  ['a key that is none', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'],
])('%s: refused, without a word of it', (_what, text) => {
  expect(() => readKeyText(text)).toThrow(unusable)
  try {
    readKeyText(text)
  } catch (thrown) {
    expect(String((thrown as Error).cause)).not.toContain(text.slice(28, 40).trim() || text)
  }
})
