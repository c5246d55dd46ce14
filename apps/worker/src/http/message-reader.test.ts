import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Message, MessageReader } from './message-reader.ts'

function read(text: string | Buffer, limit = 1_000, cut = Number.POSITIVE_INFINITY): Message {
  const reader = new MessageReader(limit)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += cut)
    reader.push(bytes.subarray(at, Math.min(at + cut, bytes.length)))
  return reader.end()
}

const result = (text: string) => `{"jsonrpc":"2.0","id":1,"result":${text}}`
const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

test('the bytes of the result are those that were sent', () => {
  const sent = '{"n":1.0, "big":12345678901234567890,"e":1E3,"z":-0}'
  const message = read(result(`  ${sent}\n`))
  expect(message.result?.raw?.toString()).toBe(sent)
  expect(message.result?.digest).toBe(sha256(sent))
  expect(message.id).toBe(1)
})

test('the result may come before the id, and an error in its place', () => {
  const message = read('{"error":{"code":-1,"message":"no"},"id":"a","jsonrpc":"2.0"}')
  expect(message.error?.raw?.toString()).toBe('{"code":-1,"message":"no"}')
  expect(message.id).toBe('a')
  expect(message.result).toBeUndefined()
})

test('a request and a notification have a method', () => {
  const message = read('{"jsonrpc":"2.0","method":"ping","params":{"a":[1]}}')
  expect(message).toMatchObject({ method: 'ping', params: { a: [1] }, id: undefined })
})

test('one reader reads one message after the other', () => {
  const reader = new MessageReader(10)
  for (const id of [1, 2]) {
    reader.push(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`))
    expect(reader.end().id).toBe(id)
  }
})

test('a result in parts of one byte takes no more room than its bytes', () => {
  const reader = new MessageReader(4_000_000)
  reader.push(Buffer.from('{"jsonrpc":"2.0","id":1,"result":"'))
  const before = process.memoryUsage().heapUsed
  for (let part = 0; part < 1_000_000; part++) reader.push(Buffer.from('x'))
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
  reader.push(Buffer.from('"}'))
  expect(reader.end().result?.bytes).toBe(1_000_002)
})

test('what is over the limit is digested and not kept', () => {
  const big = JSON.stringify({ text: 'x'.repeat(500) })
  for (const cut of [1, 7, 10_000]) {
    expect(read(result(big), 100, cut).result).toEqual({
      raw: undefined,
      bytes: big.length,
      digest: sha256(big),
    })
  }
  expect(read(result(big), big.length).result?.raw?.toString()).toBe(big)
})

test('nesting is measured', () => {
  expect(read(result('{"a":[[{}]]}')).deepest).toBe(4)
  expect(read(result('"[[[["')).deepest).toBe(0)
})

const broken = {
  'not an object': '[1]',
  'no JSON': 'hello',
  nothing: '',
  'cut short': '{"jsonrpc":"2.0","id":1,"result":{',
  'two results': '{"jsonrpc":"2.0","id":1,"result":1,"result":2}',
  'two ids': '{"jsonrpc":"2.0","id":1,"id":2,"result":1}',
  'a name with an escape': '{"jsonrpc":"2.0","id":1,"result":1,"\\u0072esult":2}',
  'no version': '{"id":1,"result":1}',
  'another version': '{"jsonrpc":"1.0","id":1,"result":1}',
  'an empty value': '{"jsonrpc":"2.0","id":,"result":1}',
  'a lost comma': '{"jsonrpc":"2.0" "id":1}',
  'a last comma': '{"jsonrpc":"2.0","id":1,}',
  'something behind it': '{"jsonrpc":"2.0","id":1,"result":1} x',
  'a method that is no name': '{"jsonrpc":"2.0","method":1}',
  'an id that is no JSON': '{"jsonrpc":"2.0","id":1 2,"result":1}',
}

test.each(Object.entries(broken))('refuses %s', (_what, text) => {
  expect(() => read(text)).toThrow(expect.objectContaining({ code: 'upstream_protocol' }))
})

test('any object is read the same however it is cut', () => {
  const json = fc.json({ maxDepth: 3 })
  fc.assert(
    fc.property(json, fc.integer({ min: 1, max: 40 }), fc.boolean(), (value, cut, pretty) => {
      const inner = pretty ? JSON.stringify(JSON.parse(value), null, 2) : value
      const message = read(result(inner), 1e6, cut)
      expect(message.result?.raw?.toString()).toBe(inner.trim())
    }),
  )
})

test('a long string with escapes is passed over to its end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('\\', '"', 'x'.repeat(30), 'é', '\n'), { maxLength: 40 }),
      fc.integer({ min: 1, max: 64 }),
      (parts, cut) => {
        const inner = JSON.stringify({ text: parts.join('') })
        expect(read(result(inner), 1e6, cut).result?.raw?.toString()).toBe(inner)
      },
    ),
  )
})
