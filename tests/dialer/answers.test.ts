/** What a server can say instead of an answer: bombs, floods, lies about lengths, and silence. */
import type { Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../apps/worker/src/clock.ts'
import { Dialer } from '../../apps/worker/src/dialer/dialer.ts'
import { requestDocument } from '../../apps/worker/src/dialer/document.ts'
import { drip, forever, RawServer } from './raw-server.ts'

let server: RawServer
beforeEach(async () => {
  server = await RawServer.start()
})
afterEach(() => server.stop())

const dialer = new Dialer({ localAllowed: true, ownListeners: new Map(), clock: systemClock })
const maxBytes = 65_536

/** The body, or the code of the failure. */
async function fetched(totalMs = 5_000, url = server.url): Promise<string> {
  try {
    const get = { method: 'GET', url, headers: {} } as const
    const { status, body } = await requestDocument(dialer, get, { maxBytes, totalMs })
    return `${status} ${body.toString('latin1')}`
  } catch (thrown) {
    return String((thrown as { code?: string }).code ?? thrown)
  }
}

const fine = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
/** It is the answer that was refused, not the server. */
async function control(): Promise<void> {
  server.say = (socket) => socket.end(fine)
  expect(await fetched()).toBe('200 {}')
}

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`
/** As much as a connection holds on its way, beside what was read. */
const onItsWay = 16 * 1024 * 1024

const floods: readonly [what: string, code: string, say: (socket: Socket) => void][] = [
  [
    'a body without end',
    'upstream_too_large',
    (socket) => {
      socket.write(`${ok}\r\n`)
      forever(socket, 'x'.repeat(65_536))
    },
  ],
  [
    'chunks without end',
    'upstream_too_large',
    (socket) => {
      socket.write(chunked)
      forever(socket, `4000\r\n${'x'.repeat(16_384)}\r\n`)
    },
  ],
  [
    'one chunk without end',
    'upstream_too_large',
    (socket) => {
      socket.write(`${chunked}fffffff\r\n`)
      forever(socket, 'x'.repeat(65_536))
    },
  ],
  [
    'a million headers',
    'upstream_too_large',
    (socket) => {
      socket.write(ok)
      forever(socket, Array.from({ length: 1_000 }, (_, n) => `x-${n}: y\r\n`).join(''))
    },
  ],
  [
    'one header of megabytes',
    'upstream_too_large',
    (socket) => {
      socket.write(`${ok}x: `)
      forever(socket, 'y'.repeat(65_536))
    },
  ],
  [
    'the name of a header without end',
    'upstream_too_large',
    (socket) => {
      socket.write(ok)
      forever(socket, 'y'.repeat(65_536))
    },
  ],
  [
    'a million headers behind the body',
    'upstream_too_large',
    (socket) => {
      socket.write(`${chunked}2\r\n{}\r\n0\r\n`)
      forever(socket, 'x: y\r\n'.repeat(1_000))
    },
  ],
]

test.each(floods)('%s: %s, and little of it is taken', async (_what, code, say) => {
  server.say = say
  expect(await fetched()).toBe(code)
  await server.left()
  expect(server.taken).toBeLessThan(onItsWay)
  await control()
})

const slow: readonly [what: string, say: (socket: Socket) => void][] = [
  ['nothing', () => {}],
  ['a head that drips', (socket) => drip(socket, `${ok}x: ${'y'.repeat(1_000)}`)],
  [
    'a body that drips',
    (socket) => {
      socket.write(`${ok}content-length: 1000\r\n\r\n`)
      drip(socket, 'y'.repeat(1_000))
    },
  ],
  [
    'chunks that drip',
    (socket) => {
      socket.write(chunked)
      drip(socket, '1\r\ny\r\n'.repeat(200))
    },
  ],
  [
    'preliminary answers without end',
    (socket) => forever(socket, 'HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n'),
  ],
  [
    'a chunk whose extension does not end',
    (socket) => {
      socket.write(`${chunked}2;x=`)
      forever(socket, 'y'.repeat(1_024))
    },
  ],
  [
    'words behind the status that do not end',
    (socket) => {
      socket.write('HTTP/1.1 200 ')
      forever(socket, 'y'.repeat(1_024))
    },
  ],
  ['empty lines before the answer without end', (socket) => forever(socket, '\r\n'.repeat(512))],
]

test.each(slow)('%s is not waited for', async (_what, say) => {
  server.say = say
  const begun = performance.now()
  const before = process.memoryUsage().rss
  expect(await fetched(400)).toMatch(/^upstream_(?:timeout|protocol|too_large)$/)
  expect(performance.now() - begun).toBeLessThan(2_000)
  expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024)
  await control()
})

const bomb = Buffer.alloc(64 * 1024 * 1024)
const packed: readonly [encoding: string, bytes: Buffer][] = [
  ['gzip', gzipSync(bomb)],
  ['x-gzip', gzipSync(bomb)],
  ['GZIP', gzipSync(bomb)],
  ['deflate', deflateSync(bomb)],
  ['br', brotliCompressSync(bomb, { params: { 1: 1 } })],
  ['zstd', zstdCompressSync(bomb)],
  ['identity, gzip', gzipSync(bomb)],
  ['gzip, identity', gzipSync(bomb)],
  ['gzip, gzip', gzipSync(gzipSync(bomb))],
]

test.each(packed)('a bomb that is %s is not unpacked', async (encoding, bytes) => {
  server.say = (socket) => {
    socket.write(`${ok}content-encoding: ${encoding}\r\ncontent-length: ${bytes.length}\r\n\r\n`)
    socket.end(bytes)
  }
  expect(await fetched()).toBe('upstream_protocol')
  expect(server.asked[0]).toMatch(/\r\naccept-encoding: identity\r\n/)
  await control()
})

test('a bomb in a transfer encoding is not unpacked either', async () => {
  const bytes = gzipSync('x'.repeat(1_000))
  server.say = (socket) => {
    socket.write(`${ok}transfer-encoding: gzip, chunked\r\n\r\n${bytes.length.toString(16)}\r\n`)
    socket.write(bytes)
    socket.end('\r\n0\r\n\r\n')
  }
  const said = await fetched()
  expect([`200 ${bytes.toString('latin1')}`, 'upstream_protocol']).toContain(said)
  await control()
})

const lies: readonly [what: string, answer: string][] = [
  ['a length that is too long', `${ok}content-length: 9\r\n\r\n{}`],
  ['two lengths', `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
  ['two lengths in one', `${ok}content-length: 2, 3\r\n\r\n{}`],
  ['a length below zero', `${ok}content-length: -2\r\n\r\n{}`],
  ['a length with a sign', `${ok}content-length: +2\r\n\r\n{}`],
  ['a length in another base', `${ok}content-length: 0x2\r\n\r\n{}`],
  ['a length beyond all numbers', `${ok}content-length: 99999999999999999999\r\n\r\n{}`],
  [
    'a length and chunks',
    `${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  ],
  ['a chunk beyond all numbers', `${chunked}fffffffffffffffff\r\n{}`],
  ['a chunk below zero', `${chunked}-2\r\n{}\r\n0\r\n\r\n`],
  ['a chunk that is no number', `${chunked}zz\r\n{}\r\n0\r\n\r\n`],
  ['a chunk that is longer than it says', `${chunked}1\r\n{}\r\n0\r\n\r\n`],
  ['chunks that break off', `${chunked}2\r\n{}\r\n`],
  ['a space before a colon', `${ok}x : y\r\ncontent-length: 2\r\n\r\n{}`],
  ['a header without a colon', `${ok}xyz\r\ncontent-length: 2\r\n\r\n{}`],
  ['a zero in a header', `${ok}x: a\0b\r\ncontent-length: 2\r\n\r\n{}`],
  ['a carriage return in a header', `${ok}x: a\rb: c\r\ncontent-length: 2\r\n\r\n{}`],
  ['a head that breaks off', `${ok}content-le`],
  ['no head', '{}'],
  ['a head without a version', 'HTTP 200 OK\r\n\r\n{}'],
  ['another version', 'HTTP/3.0 200 OK\r\ncontent-length: 2\r\n\r\n{}'],
  ['a status that is none', 'HTTP/1.1 1000 OK\r\ncontent-length: 2\r\n\r\n{}'],
  ['a status below zero', 'HTTP/1.1 -1 OK\r\ncontent-length: 2\r\n\r\n{}'],
  ['another protocol', '220 mail.example ESMTP\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  [
    'a change to another protocol',
    'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  ],
  ['that it may go on', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['nothing, and closes', ''],
]

test.each(lies)('%s is no answer', async (_what, answer) => {
  server.say = (socket) => socket.end(answer, 'latin1')
  expect(await fetched()).toMatch(/^upstream_(?:protocol|unreachable|too_large)$/)
  // Nor is it asked again.
  expect(server.asked).toHaveLength(1)
  await control()
})

test.each([
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\n{}'],
  ['chunks', `${chunked}1\r\n{\r\n1;x=y\r\n}\r\n0\r\nx: y\r\n\r\n`],
  ['a preliminary answer before', `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${fine}`],
  ['more than it announced', `${fine}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`],
  ['the same length twice over', `${ok}content-length: 2\r\n\r\n{}`],
])('%s is an answer', async (_what, answer) => {
  server.say = (socket) => socket.end(answer, 'latin1')
  expect(await fetched()).toBe('200 {}')
})

test('a connection that is reset is no answer', async () => {
  server.say = (socket) => socket.resetAndDestroy()
  expect(await fetched()).toBe('upstream_unreachable')
  expect(server.asked).toHaveLength(1)
  await control()
})

test.each([
  ['401', 'www-authenticate: Basic realm="x", NTLM, Negotiate'],
  ['407', 'proxy-authenticate: Basic realm="x"'],
  ['421', 'x: y'],
  ['425', 'x: y'],
  ['429', 'retry-after: 0'],
  ['503', 'retry-after: 0'],
])('%s is told, and nothing is asked again', async (status, header) => {
  server.say = (socket) =>
    socket.write(`HTTP/1.1 ${status} No\r\n${header}\r\ncontent-length: 2\r\n\r\nno`)
  expect(await fetched()).toBe(`${status} no`)
  await server.left()
  expect(server.asked).toHaveLength(1)
})

test.each(['location', 'refresh', 'alt-svc', 'link', 'content-location', 'set-cookie'])(
  'the header %s leads nowhere',
  async (name) => {
    const trap = await RawServer.start()
    const url = trap.url
    const value =
      {
        refresh: `0; url=${url}`,
        'alt-svc': `h2="127.0.0.1:${trap.port}"`,
        link: `<${url}>; rel=preload`,
        'set-cookie': 'a=b',
      }[name] ?? url
    server.say = (socket) => socket.end(`${ok}${name}: ${value}\r\ncontent-length: 2\r\n\r\n{}`)
    try {
      for (let n = 0; n < 2; n++) expect(await fetched()).toBe('200 {}')
      expect(trap.asked).toEqual([])
      expect(server.asked.join('')).not.toMatch(/cookie/i)
      trap.say = (socket) => socket.end(fine)
      expect(await fetched(5_000, trap.url)).toBe('200 {}')
    } finally {
      await trap.stop()
    }
  },
)
