/** One frame of every kind that is in use, as our own programs say them. */
import { release } from '@sallyport/protocol'
import { digestBytes, wireVersion } from '@sallyport/protocol/node'
import type { Said } from './hostile-frames.ts'

const digest = digestBytes('a')
const intent = 'int_0123456789abcdefghjkmnpqrs'
const jwk = { kty: 'OKP', crv: 'X25519', x: 'a'.repeat(43) }
const result = { intent, verdict: 'result', digest, bytes: 14, status: 200, tookMs: 3 }
const none = Buffer.alloc(0)
const raw = Buffer.from('{"content":[]}')

export const sampleFrames: readonly Said[] = [
  {
    kind: 'hello',
    head: {
      ...{ wire: wireVersion, release, build: 'test', role: 'gateway', instance: 'ins_1' },
      ...{ now: 1_790_000_000_000, pid: 4_711, ownListeners: [{ host: '127.0.0.1', port: 7_400 }] },
    },
    raw: none,
  },
  { kind: 'intents', head: { batch: digest, jws: 'e30.YQ.YQ' }, raw: Buffer.from('{"id":"a"}') },
  { kind: 'body', head: { intent, endpoint: 'ey.e', credential: 'ey.c' }, raw },
  { kind: 'committed', head: { batch: digest, admitted: [0, 1] }, raw: none },
  { kind: 'abort', head: { batch: digest }, raw: none },
  { kind: 'result', head: result, raw },
  { kind: 'progress', head: { intent, progress: 1, total: 2, message: 'half' }, raw: none },
  { kind: 'settled', head: { intents: [intent] }, raw: none },
  { kind: 'recover', head: { intents: [{ id: intent, iat: 1, aud: 'ins_2' }] }, raw: none },
  { kind: 'recovered', head: { intent, instance: 'ins_2', state: 'result', result }, raw },
  { kind: 'cancel', head: { intent }, raw: none },
  { kind: 'release', head: { connectionId: 'con_1' }, raw: none },
  {
    kind: 'observed',
    head: { connectionId: 'con_1', connectionRevision: 1, digest, at: 1, tools: { a: digest } },
    raw: none,
  },
  { kind: 'ping', head: { n: 1 }, raw: none },
  { kind: 'pong', head: { n: 1 }, raw: none },
  {
    kind: 'late',
    head: { intent, verdict: 'result', digest, bytes: 14, status: 200 },
    raw: none,
  },
  {
    kind: 'vault',
    head: { source: 'file', keys: [{ kid: 'k', jwk, madeAt: null }], retired: ['old'] },
    raw: none,
  },
]
