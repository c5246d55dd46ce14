/** Every certificate a server can show that must not be believed, each beside one that is. */
import { once } from 'node:events'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { createServer, type TlsOptions } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../apps/worker/src/clock.ts'
import { Dialer } from '../../apps/worker/src/dialer/dialer.ts'
import { SteppedClock } from '../../apps/worker/src/testing/stepped-clock.ts'
import { type Certificate, Certificates, type Wanted } from './certificates.ts'

const made = new Certificates()
let authority: Certificate
let stranger: Certificate
beforeAll(() => {
  authority = made.authority('ours')
  stranger = made.authority('stranger')
})
afterAll(() => made.remove())

const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) {
    server.close()
    await once(server, 'close')
  }
})

async function listen(server: Server): Promise<number> {
  servers.push(server)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** What the dialer says of a server that shows this. */
async function dial(options: TlsOptions, host = 'mcp.dev'): Promise<string> {
  // Weak keys and digests too: it is the dialer that must refuse them.
  const server = createServer({ ciphers: 'DEFAULT@SECLEVEL=0', ...options }, (socket) => {
    socket.on('error', () => {})
    socket.end()
  })
  server.on('tlsClientError', () => {})
  return await codeOf(await listen(server), host)
}

async function codeOf(port: number, host = 'mcp.dev', clock = systemClock): Promise<string> {
  const dialer = new Dialer({
    localAllowed: true,
    authorities: [authority.cert],
    ownListeners: new Map(),
    clock,
    resolve: async () => ['127.0.0.1'],
  })
  try {
    const socket = await dialer.connect({ scheme: 'https', host, port })
    socket.destroy()
    return 'connected'
  } catch (thrown) {
    return (thrown as { code: string }).code
  }
}

/** Each is shown by a server that is asked for `mcp.dev`. */
const refused: readonly [what: string, wanted: Wanted][] = [
  ['another name', { names: 'DNS:elsewhere.dev' }],
  ['a name that begins alike', { names: 'DNS:mcp.dev.elsewhere.dev' }],
  ['a name below', { names: 'DNS:a.mcp.dev' }],
  ['every name below, but not it', { names: 'DNS:*.mcp.dev' }],
  ['every name of a top', { names: 'DNS:*.elsewhere.dev' }],
  ['a star for everything', { names: 'DNS:*' }],
  ['an address where a name is asked for', { names: 'IP:127.0.0.1' }],
  ['the name as a URL', { names: 'URI:https://mcp.dev/' }],
  ['the name as that of a person', { names: 'email:x@mcp.dev' }],
  [
    'the name as its common name, and another beside it',
    { commonName: 'mcp.dev', names: 'DNS:x.dev' },
  ],
  ['a time that is over', { from: -9, to: -1 }],
  ['a time that has not come', { from: 1, to: 9 }],
  ['that it is for clients', { usage: 'clientAuth' }],
  ['that it is for code', { usage: 'codeSigning' }],
  ['a key that is too weak', { rsaBits: 1024 }],
  ['a digest that is too weak', { digest: 'sha1' }],
]

test.each(refused)('a certificate with %s is refused', async (_what, wanted) => {
  expect(await dial(made.issue(authority, wanted))).toBe('upstream_tls')
  expect(await dial(made.issue(authority))).toBe('connected')
})

test('a certificate of the name, of every name beside it, and of the address is taken', async () => {
  const beside = made.issue(authority, { names: 'DNS:*.dev.example', usage: 'serverAuth' })
  expect(await dial(beside, 'mcp.dev.example')).toBe('connected')
  const address = made.issue(authority, { names: 'IP:127.0.0.1' })
  expect(await dial(address, '127.0.0.1')).toBe('connected')
  const other = made.issue(authority, { names: 'IP:127.0.0.2' })
  expect(await dial(other, '127.0.0.1')).toBe('upstream_tls')
  const strong = made.issue(authority, { rsaBits: 2048 })
  expect(await dial(strong)).toBe('connected')
})

test('a certificate that only names the address in words is refused for an address', async () => {
  const words = made.issue(authority, { names: 'DNS:127.0.0.1', commonName: '127.0.0.1' })
  expect(await dial(words, '127.0.0.1')).toBe('upstream_tls')
})

test('what signs itself is refused, and so is what a stranger signed', async () => {
  const itself = made.authority('mcp.dev')
  const theirs = made.issue(stranger)
  for (const shown of [itself, theirs, { ...theirs, cert: theirs.cert + stranger.cert }])
    expect(await dial(shown)).toBe('upstream_tls')
  expect(await dial(made.issue(authority))).toBe('connected')
})

test('who was certified cannot certify others, and an authority below ours can', async () => {
  const leaf = made.issue(authority, { commonName: 'leaf' })
  const below = made.issue(authority, { isAuthority: true, names: '', commonName: 'below' })
  const chained = (issuer: Certificate) => {
    const { key, cert } = made.issue(issuer)
    return { key, cert: cert + issuer.cert }
  }
  expect(await dial(chained(leaf))).toBe('upstream_tls')
  expect(await dial(chained(below))).toBe('connected')
  // Without the link between, nobody knows whose it is.
  expect(await dial(made.issue(below))).toBe('upstream_tls')
})

test('a version of TLS that is out of date is refused', async () => {
  const shown = made.issue(authority)
  const old = { ...shown, minVersion: 'TLSv1' } as const
  for (const maxVersion of ['TLSv1', 'TLSv1.1'] as const)
    expect(await dial({ ...old, maxVersion })).toBe('upstream_tls')
  expect(await dial({ ...old, maxVersion: 'TLSv1.2' })).toBe('connected')
})

test('a server that speaks only another protocol than HTTP/1.1 is refused', async () => {
  const shown = made.issue(authority)
  expect(await dial({ ...shown, ALPNProtocols: ['h2'] })).toBe('upstream_tls')
  expect(await dial({ ...shown, ALPNProtocols: ['h2', 'http/1.1'] })).toBe('connected')
})

test('a server that demands a certificate of ours gets none', async () => {
  const shown = { ...made.issue(authority), requestCert: true }
  // In TLS 1.3 the server complains when the client has finished.
  const old = { ...shown, maxVersion: 'TLSv1.2' } as const
  expect(await dial({ ...old, ca: stranger.cert })).toBe('upstream_tls')
  expect(await dial({ ...old, rejectUnauthorized: false })).toBe('connected')
})

test.each([
  'HTTP/1.1 200 OK\r\n\r\n',
  'SSH-2.0-OpenSSH_9.9\r\n',
  '\x15\x03\x01\x00\x02\x02\x28',
  '\x16\x03\x03\xff\xff',
])('a server that answers the handshake with %j is refused', async (answer) => {
  const server = createTcpServer((socket) => socket.end(Buffer.from(answer, 'latin1')))
  expect(await codeOf(await listen(server))).toMatch(/^upstream_(?:tls|unreachable)$/)
  expect(await dial(made.issue(authority))).toBe('connected')
})

test('a server that never answers the handshake is not waited for', async () => {
  const clock = new SteppedClock()
  let isCalled = false
  const server = createTcpServer(() => {
    isCalled = true
  })
  const port = await listen(server)
  const code = codeOf(port, 'mcp.dev', clock)
  await expect.poll(() => isCalled).toBe(true)
  clock.step(5_000)
  expect(await code).toBe('upstream_timeout')
})

test('nothing of the environment makes a certificate believed', async () => {
  const theirs = made.issue(stranger)
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  process.env['SSL_CERT_FILE'] = '/nowhere'
  try {
    expect(await dial(theirs)).toBe('upstream_tls')
    expect(await dial(made.issue(authority))).toBe('connected')
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    delete process.env['SSL_CERT_FILE']
  }
})
