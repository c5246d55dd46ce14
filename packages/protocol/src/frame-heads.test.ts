import { expect, test } from 'vitest'
import { isHeadOf } from './frame-heads.ts'
import type { FrameKind } from './frames.ts'

const digest = `sha256:${'0'.repeat(64)}`
const jwk = { kty: 'OKP', crv: 'X25519', x: 'x' }
const hello = {
  ...{ wire: 1, release: '0', build: 'b', role: 'worker', instance: 'i', now: 1.5, pid: 2 },
  ownListeners: [{ host: '::1', port: 7_400 }],
}
const result = { intent: 'i', verdict: 'result', digest, bytes: 0, isError: true }
const vault = { source: 'file', keys: [{ kid: 'k', jwk, madeAt: null }], retired: ['old'] }
const observed = { connectionId: 'c', connectionRevision: 1, digest, at: 1, tools: { a: digest } }

const right: Partial<Record<FrameKind, object>> = {
  hello,
  intents: { batch: digest, jws: 'a.b.c' },
  body: { intent: 'i', endpoint: 'seal' },
  committed: { batch: digest, admitted: [0, 7] },
  abort: { batch: digest },
  result,
  late: result,
  progress: { intent: 'i', progress: 0.5, total: 1, message: 'half' },
  settled: { intents: ['i', 'j'] },
  recover: { intents: [{ id: 'i', iat: 1, aud: 'w' }] },
  recovered: { intent: 'i', instance: 'w', state: 'result', result },
  cancel: { intent: 'i' },
  release: { connectionId: 'c' },
  observed,
  vault,
  ping: { n: 1 },
  pong: { n: 1 },
}
const kinds = Object.entries(right) as [FrameKind, object][]

test.each(kinds)('a head of %s is one, also with a member that is not known here', (kind, head) => {
  expect(isHeadOf(kind, head)).toBe(true)
  expect(isHeadOf(kind, { ...head, more: { than: ['was', 'asked'] } })).toBe(true)
})

test.each(kinds)('what is no object is no head of %s', (kind, head) => {
  for (const other of [null, undefined, 1, 'text', true, [], [head], Object.values(head)])
    expect(isHeadOf(kind, other), JSON.stringify(other)).toBe(false)
})

test.each(kinds)('with any member of another type it is no head of %s', (kind, head) => {
  for (const name of Object.keys(head))
    for (const other of [null, 'x'.repeat(2 ** 21), Number.POSITIVE_INFINITY, { a: 1 }, [[]]])
      expect(isHeadOf(kind, { ...head, [name]: other }), `${name}: ${typeof other}`).toBe(false)
})

test.each<[FrameKind, object, string]>([
  ['hello', { ...hello, ownListeners: [{ host: '::1' }] }, 'a listener without a port'],
  ['hello', { ...hello, keys: { ...vault, keys: [] } }, 'a vault without a key'],
  ['committed', { batch: digest, admitted: [-1] }, 'a position before the first'],
  ['committed', { batch: digest, admitted: [0.5] }, 'half a position'],
  ['committed', { batch: 'sha256:0', admitted: [] }, 'a short digest'],
  ['result', { ...result, code: 'constructor' }, 'a code that is none'],
  ['result', { ...result, bytes: -1 }, 'less than nothing'],
  ['result', { intent: 'x'.repeat(129), verdict: 'result' }, 'an id of 129 characters'],
  ['recovered', { intent: 'i', instance: 'w', state: 'result', result: {} }, 'an empty result'],
  ['observed', { ...observed, tools: { a: 'b' } }, 'a tool without a digest'],
  ['ping', { n: 2 ** 53 }, 'a number that is not exact'],
])('a head of %s is none: %j (%s)', (kind, head) => {
  expect(isHeadOf(kind, head)).toBe(false)
})

test('kinds that are not in use have no head that is right', () => {
  for (const kind of ['lease', 'webhook'] as const) expect(isHeadOf(kind, {})).toBe(false)
})
