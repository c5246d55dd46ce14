/**
 * Answers of an upstream as no server of good will gives them: the message, the event stream around it, the HTTP around
 * that, or what comes behind it is wrong. Whatever is made of the answer to one call never says the id of one call and the
 * words of another.
 */
import type { Random } from '../system/random.ts'
import { changedBytes } from './hostile-bytes.ts'
import { changedJson, print } from './hostile-json.ts'

/** What is written, piece by piece, and whether the server then closes, or says no more and stays. */
export interface Written {
  readonly pieces: readonly Buffer[]
  readonly end: 'keep' | 'close' | 'stall'
}

export interface AnswerOptions {
  readonly random: Random
  /** The right one. */
  readonly message: Readonly<Record<string, unknown>>
  /** Answers to other requests, as they are. */
  readonly foreign: readonly string[]
  /** Headers of the right answer beside those of its body. */
  readonly headers?: readonly string[]
  readonly stalls: boolean
}

interface Body {
  readonly type: string
  readonly bytes: Buffer
}

export function hostileAnswer(options: AnswerOptions): Written {
  const { random, foreign } = options
  const own =
    random.next() < 0.5 ? print(options.message) : changedJson(random, options.message, [])
  const isStream = random.next() < 0.5
  const body = isStream ? streamOf(options, own) : plain(own)
  const damaged = random.next() < 0.25 ? { ...body, bytes: changedBytes(random, body.bytes) } : body
  const mixed =
    foreign.length > 0 && random.next() < 0.25
      ? mix(random, damaged, random.pick(foreign), isStream)
      : damaged
  return framed(options, mixed)
}

/** As it should be. */
export function rightAnswer(
  message: Readonly<Record<string, unknown>>,
  headers: readonly string[] = [],
): Written {
  const { type, bytes } = plain(print(message))
  const head = headOf('200 OK', [
    `content-type: ${type}`,
    `content-length: ${bytes.length}`,
    ...headers,
  ])
  return { pieces: [head, bytes], end: 'keep' }
}

export const emptyAnswer = (status: string): Written => ({
  pieces: [headOf(status, ['content-length: 0'])],
  end: 'keep',
})

const plain = (text: string): Body => ({ type: 'application/json', bytes: Buffer.from(text) })
const event = (data: string): string => `event: message\ndata: ${data}\n\n`

/** Around it, what a server may say and may not. */
function streamOf({ random, message }: AnswerOptions, own: string): Body {
  const progress = { progressToken: message['id'], progress: 1, message: 'half' }
  const words = [
    ': nothing\n\n',
    'id: 1\nretry: 5\ndata:\n\n',
    event(`{"jsonrpc":"2.0","method":"notifications/progress","params":${print(progress)}}`),
    event(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":${changedJson(random, progress, [])}}`,
    ),
    event('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'),
    event('{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}'),
    event(changedJson(random, { jsonrpc: '2.0', id: 'q', method: 'roots/list', params: {} }, [])),
    event('{"jsonrpc":"2.0","id":999999999,"result":{}}'),
    event('[]'),
    `data: {"jsonrpc":"2.0",\ndata: "method":"x"}\n\n`,
    'data\n\n',
  ]
  const before = words.filter(() => random.below(8) === 0)
  const after = words.filter(() => random.below(16) === 0)
  const ending = random.pick(['\n', '\r\n', '\r'])
  const text = [...before, event(own), ...after].join('').replaceAll('\n', ending)
  return { type: 'text/event-stream', bytes: Buffer.from(text) }
}

/** The answer to another request beside this one, whole. */
function mix(random: Random, { type, bytes }: Body, foreign: string, isStream: boolean): Body {
  const other = Buffer.from(isStream ? `\n\n${event(foreign)}` : foreign)
  switch (random.below(3)) {
    case 0:
      return { type, bytes: other }
    case 1:
      return { type, bytes: Buffer.concat([other, bytes]) }
    default:
      return { type, bytes: Buffer.concat([bytes, Buffer.from(isStream ? '\n\n' : ''), other]) }
  }
}

const statuses = [
  ...['100 Continue', '101 Switching Protocols', '102 Processing', '199 X', '202 Accepted'],
  ...['204 No Content', '206 Partial', '301 Moved', '304 Not Modified', '400 Bad', '401 Who'],
  ...['403 No', '404 Not Found', '409 Conflict', '429 Slow', '500 Broken', '503 Later', '999 X'],
  ...['000 Zero', '20 Short', '2000 Long', 'OK', ''],
]

const strange: readonly string[] = [
  'content-type: text/html',
  'content-type: application/json; charset=utf-16',
  'content-type: text/event-stream, application/json',
  'content-encoding: gzip',
  'content-encoding: identity, br',
  'transfer-encoding: chunked',
  'transfer-encoding: gzip, chunked',
  'connection: close',
  'connection: upgrade\r\nupgrade: websocket',
  'location: http://127.0.0.1:1/',
  'mcp-session-id: \u00e9\u00ff',
  `mcp-session-id: ${'s'.repeat(4_000)}`,
  'www-authenticate: Bearer error="insufficient_scope", scope="a b", scope="c"',
  'www-authenticate: Bearer error="\\",,,=, ="',
  `x-long: ${'x'.repeat(20_000)}`,
  ' folded: header',
  'no colon here',
  'x-null: a\0b',
  'keep-alive: timeout=0',
  'keep-alive: timeout=99999999999999999999',
  ...Array.from({ length: 3 }, () =>
    Array.from({ length: 300 }, (_, n) => `x-${n}: 1`).join('\r\n'),
  ),
]

const headOf = (status: string, headers: readonly string[]): Buffer =>
  Buffer.from([`HTTP/1.1 ${status}`, ...headers, '', ''].join('\r\n'), 'latin1')

function framed(options: AnswerOptions, { type, bytes }: Body): Written {
  const { random, headers = [], foreign } = options
  const isOdd = random.next() < 0.35
  const status = isOdd && random.next() < 0.5 ? random.pick(statuses) : '200 OK'
  const more = isOdd && random.next() < 0.5 ? [random.pick(strange)] : []
  const [lengths, body] = lengthOf(random, bytes, isOdd)
  const head = headOf(status, [`content-type: ${type}`, ...lengths, ...headers, ...more])
  const sent = isOdd && random.next() < 0.1 ? changedBytes(random, head) : head
  const behind =
    isOdd && random.next() < 0.3 && foreign.length > 0 ? [whole(random.pick(foreign))] : []
  const pieces = [sent, ...cut(random, body), ...behind]
  // Without a length the end of the connection is the end of the answer.
  const closes = lengths.length === 0 || random.next() < 0.3
  const stalls = options.stalls && random.next() < 0.01
  return { pieces, end: stalls ? 'stall' : closes ? 'close' : 'keep' }
}

/** A second answer that nobody asked for on this connection. */
function whole(message: string): Buffer {
  const { pieces } = rightAnswer(JSON.parse(message) as Record<string, unknown>)
  return Buffer.concat(pieces)
}

function lengthOf(random: Random, bytes: Buffer, isOdd: boolean): [string[], Buffer] {
  const right = [`content-length: ${bytes.length}`]
  if (!isOdd) return random.next() < 0.8 ? [right, bytes] : [[], bytes]
  const length = random.pick([
    ...[bytes.length - 1, bytes.length + 1, 0, -1, 1e10].map(String),
    ...['', 'x', '9'.repeat(30), `${bytes.length}, ${bytes.length}`, `+${bytes.length}`],
  ])
  switch (random.below(5)) {
    case 0:
      return [[`content-length: ${length}`], bytes]
    case 1:
      return [[...right, `content-length: ${length}`], bytes]
    case 2:
      return [['transfer-encoding: chunked'], chunked(random, bytes)]
    case 3:
      return [['transfer-encoding: chunked'], changedBytes(random, chunked(random, bytes))]
    default:
      return [right, bytes]
  }
}

function chunked(random: Random, bytes: Buffer): Buffer {
  const parts = cut(random, bytes).flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

function cut(random: Random, bytes: Buffer): Buffer[] {
  const at = random.below(bytes.length + 1)
  return [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0)
}
