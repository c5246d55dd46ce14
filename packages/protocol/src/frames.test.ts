import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeFrame, FrameReader, frameKinds } from './frames.ts'

test('the kinds have these numbers on the wire, in this order', () => {
  expect(frameKinds).toEqual([
    'hello',
    'intents',
    'body',
    'committed',
    'abort',
    'result',
    'progress',
    'settled',
    'recover',
    'recovered',
    'cancel',
    'lease',
    'release',
    'observed',
    'webhook',
    'ping',
    'pong',
    'late',
    'vault',
  ])
})

test('a frame is length, kind, length of the head, head, raw bytes', () => {
  const frame = encodeFrame('body', { é: 1 }, Buffer.from('ab'), Buffer.from('c'))
  expect(frame.toString('latin1')).toBe(
    `\0\0\0\x10\x03\0\0\0\x08${Buffer.from('{"é":1}').toString('latin1')}abc`,
  )
})

const frames = fc.array(
  fc.record({
    kind: fc.constantFrom(...frameKinds),
    head: fc.jsonValue(),
    raw: fc.uint8Array({ maxLength: 40 }),
  }),
  { minLength: 1, maxLength: 5 },
)

test('frames come back whole and in order, however the stream is cut', () => {
  fc.assert(
    fc.property(
      frames,
      fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 60 }),
      (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(({ kind, head, raw }) => encodeFrame(kind, head, raw)))
        const reader = new FrameReader()
        const got = []
        let at = 0
        for (const size of [...cuts, bytes.length]) {
          got.push(...reader.push(bytes.subarray(at, at + size)))
          at += size
        }
        expect(got).toEqual(
          sent.map(({ kind, head, raw }) => ({
            kind,
            head: JSON.parse(JSON.stringify(head)),
            raw: Buffer.from(raw),
          })),
        )
      },
    ),
  )
})

test('a large frame in many chunks is put together once', () => {
  const raw = Buffer.alloc(16 * 1024 * 1024, 7)
  const bytes = encodeFrame('result', { intent: 'x' }, raw)
  const reader = new FrameReader()
  const got = []
  for (let at = 0; at < bytes.length; at += 16_384)
    got.push(...reader.push(bytes.subarray(at, at + 16_384)))
  expect(got).toHaveLength(1)
  expect(got[0]?.raw.equals(raw)).toBe(true)
})

test.each([
  ['a length over 32 MiB', '0200000101', RangeError],
  ['a length too short for a head', '0000000401000000', RangeError],
  ['a kind that does not exist', '000000050000000000', RangeError],
  ['a kind after the last', '000000051400000000', RangeError],
  ['a head longer than its frame', '000000070100000003616263', RangeError],
  ['a head that is no JSON', '0000000701000000027b61', SyntaxError],
  ['an empty head', '000000050100000000', SyntaxError],
])('throws for %s', (_name, hex, kind) => {
  expect(() => new FrameReader().push(Buffer.from(hex, 'hex'))).toThrow(kind)
})

test('refuses to write what the other side would refuse to read', () => {
  const most = 32 * 1024 * 1024 - 5 - 2
  expect(() => encodeFrame('result', {}, Buffer.alloc(most + 1))).toThrow(RangeError)
  const [frame] = new FrameReader().push(encodeFrame('result', {}, Buffer.alloc(most)))
  expect(frame?.raw).toHaveLength(most)
})
