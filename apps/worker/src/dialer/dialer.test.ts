import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { afterEach, expect, test, vi } from 'vitest'
import { systemClock } from '../clock.ts'
import { type ServerCertificate, serverCertificate } from '../testing/server-certificate.ts'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { Dialer, type DialerOptions } from './dialer.ts'

const certificate = serverCertificate('DNS:mcp.test,DNS:other.test,IP:127.0.0.1')
const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  for (const server of servers.splice(0)) {
    server.close()
    await once(server, 'close')
  }
})

interface Listening {
  readonly port: number
  /** Server names of the connections that came. */
  readonly names: unknown[]
}

async function listen(server: Server, host: string, port = 0): Promise<number> {
  servers.push(server)
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function serveTls(
  host = '127.0.0.1',
  { key, cert }: ServerCertificate = certificate,
): Promise<Listening> {
  const names: unknown[] = []
  const server = createTlsServer({ key, cert }, (socket: TLSSocket) => {
    names.push(socket.servername)
    socket.on('error', () => {})
    socket.end()
  })
  return { port: await listen(server, host), names }
}

/** Loopback passes, because nothing else can be served here; the judging of addresses has its own test. */
function dialer(options: Partial<DialerOptions> = {}): Dialer {
  return new Dialer({
    localAllowed: true,
    authorities: [certificate.cert],
    clock: systemClock,
    ownListeners: new Map(),
    resolve: () => Promise.resolve(['127.0.0.1']),
    ...options,
  })
}

const https = (port: number, host = 'mcp.test') => ({ scheme: 'https', host, port }) as const
const http = (port: number, host = '127.0.0.1') => ({ scheme: 'http', host, port }) as const
const code = (expected: string) => ({ code: expected })

test('dials the address a name was resolved to once, and asks for the name', async () => {
  const { port, names } = await serveTls()
  const asked: string[] = []
  const answers = [['127.0.0.1'], ['127.0.0.66']]
  const resolve = (host: string) => {
    asked.push(host)
    return Promise.resolve(answers[asked.length - 1] ?? [])
  }
  const socket = (await dialer({ resolve }).connect(https(port))) as TLSSocket
  expect(socket.remoteAddress).toBe('127.0.0.1')
  expect(socket.authorized).toBe(true)
  expect(asked).toEqual(['mcp.test'])
  await expect.poll(() => names).toEqual(['mcp.test'])
  socket.destroy()
})

test('one address that may not be dialled refuses the name, and none is', async () => {
  const { port, names } = await serveTls()
  for (const bad of [
    '10.0.0.1',
    '169.254.169.254',
    '::ffff:127.0.0.1',
    '0.0.0.0',
    'fe80::1%lo',
    'x',
  ]) {
    const resolve = () => Promise.resolve(['127.0.0.1', bad])
    await expect(dialer({ resolve }).connect(https(port))).rejects.toMatchObject(
      code('upstream_blocked_address'),
    )
  }
  expect(names).toEqual([])
})

test.each(['127.0.0.1', '[::1]', 'localhost', 'mcp.test'])(
  '%s is blocked where local upstreams are not allowed',
  async (host) => {
    const { port } = await serveTls()
    const refused = dialer({ localAllowed: false }).connect(https(port, host))
    await expect(refused).rejects.toMatchObject(code('upstream_blocked_address'))
  },
)

test.each([
  '10.0.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '[fd00::1]',
  '[::ffff:127.0.0.1]',
  '0.0.0.0',
])('the address %s is blocked also where local upstreams are allowed', async (host) => {
  await expect(dialer().connect(https(443, host))).rejects.toMatchObject(
    code('upstream_blocked_address'),
  )
})

test('a connection that leads elsewhere than it was dialled to is not used', async () => {
  const port = await listen(
    createServer((socket) => socket.end()),
    '127.0.0.1',
  )
  // Where `remoteAddress` comes from; the property itself cannot be replaced.
  const peer = Socket.prototype as unknown as { _getpeername(): { address: string } }
  const elsewhere = vi.spyOn(peer, '_getpeername').mockReturnValue({ address: '127.0.0.9' })
  try {
    await expect(dialer().connect(http(port))).rejects.toMatchObject(
      code('upstream_blocked_address'),
    )
  } finally {
    elsewhere.mockRestore()
  }
  const socket = await dialer().connect(http(port))
  socket.destroy()
})

test('plain http goes to this machine only', async () => {
  const port = await listen(
    createServer((socket) => socket.end()),
    '127.0.0.1',
  )
  const socket = await dialer().connect(http(port))
  socket.destroy()
  const resolve = () => Promise.resolve(['8.8.8.8'])
  await expect(dialer({ resolve }).connect(http(port, 'mcp.test'))).rejects.toMatchObject(
    code('upstream_blocked_address'),
  )
})

test('localhost is this machine, whatever a resolver says, and its second address is tried', async () => {
  const port = await listen(
    createServer((socket) => socket.end()),
    '::1',
  )
  const resolve = () => Promise.reject(new Error('not asked'))
  const socket = await dialer({ resolve }).connect(http(port, 'localhost'))
  expect(socket.remoteAddress).toBe('::1')
  socket.destroy()
})

test('the listeners of a gateway are never dialled, and another port is', async () => {
  const own = await serveTls()
  const other = await serveTls()
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    const guarded = dialer({ ownListeners: new Map([['ins_1', [{ host, port: own.port }]]]) })
    await expect(guarded.connect(https(own.port))).rejects.toMatchObject(
      code('upstream_blocked_address'),
    )
    const socket = await guarded.connect(https(other.port))
    socket.destroy()
  }
  expect(own.names).toEqual([])
})

test.each([
  ['no authority of ours', { authorities: [] }, 'mcp.test'],
  ['another name', {}, 'elsewhere.test'],
] as const)('a certificate of %s is refused', async (_what, options, host) => {
  const { port } = await serveTls()
  await expect(dialer(options).connect(https(port, host))).rejects.toMatchObject(
    code('upstream_tls'),
  )
})

test('an expired certificate is refused', async () => {
  const expired = serverCertificate('DNS:mcp.test', -1)
  const { port } = await serveTls('127.0.0.1', expired)
  const refused = dialer({ authorities: [expired.cert] }).connect(https(port))
  await expect(refused).rejects.toMatchObject(code('upstream_tls'))
})

test('a certificate may hold an address', async () => {
  const { port, names } = await serveTls()
  const socket = await dialer().connect(https(port, '127.0.0.1'))
  await expect.poll(() => names).toEqual([false])
  socket.destroy()
})

test('a server without TLS is refused as one', async () => {
  const port = await listen(
    createServer((socket) => {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    }),
    '127.0.0.1',
  )
  await expect(dialer().connect(https(port))).rejects.toMatchObject(code('upstream_tls'))
})

test('nobody there is unreachable', async () => {
  const { port } = await serveTls()
  servers.splice(0)[0]?.close()
  await expect(dialer().connect(https(port))).rejects.toMatchObject(code('upstream_unreachable'))
})

test.each([
  ['no answer', () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))],
  ['no address', () => Promise.resolve([])],
])('a name with %s is told as that', async (_what, resolve) => {
  await expect(dialer({ resolve }).connect(https(443))).rejects.toMatchObject(code('upstream_dns'))
})

test('a resolver and a server that do not answer are not waited for', async () => {
  const clock = new SteppedClock()
  const silent = dialer({ clock, resolve: () => new Promise(() => {}) }).connect(https(443))
  silent.catch(() => {})
  clock.step(5_000)
  await expect(silent).rejects.toMatchObject(code('upstream_dns'))

  const accepted = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on('error', () => {})
    accepted.resolve()
  })
  const port = await listen(server, '127.0.0.1')
  const connecting = dialer({ clock }).connect(https(port))
  connecting.catch(() => {})
  await accepted.promise
  clock.step(5_000)
  await expect(connecting).rejects.toMatchObject(code('upstream_timeout'))
})

test('a name is asked for once at a time', async () => {
  const { port } = await serveTls()
  const answers: ((addresses: string[]) => void)[] = []
  const slow = dialer({ resolve: () => new Promise((resolve) => answers.push(resolve)) })
  const sockets = [slow.connect(https(port)), slow.connect(https(port))]
  expect(answers).toHaveLength(1)
  const other = slow.connect(https(port, 'other.test'))
  expect(answers).toHaveLength(2)
  answers[0]?.(['127.0.0.1'])
  for (const socket of await Promise.all(sockets)) socket.destroy()
  answers[1]?.([])
  await expect(other).rejects.toMatchObject(code('upstream_dns'))
  const later = slow.connect(https(port))
  expect(answers).toHaveLength(3)
  answers[2]?.([])
  await expect(later).rejects.toMatchObject(code('upstream_dns'))
})

test('the environment does not turn the checking of certificates off', async () => {
  const { port } = await serveTls()
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  try {
    await expect(dialer({ authorities: [] }).connect(https(port))).rejects.toMatchObject(
      code('upstream_tls'),
    )
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  }
})

test('a proxy in the environment is not known', async () => {
  const { port } = await serveTls()
  process.env['HTTPS_PROXY'] = 'http://127.0.0.1:9'
  try {
    const socket = await dialer().connect(https(port))
    expect(socket.remotePort).toBe(port)
    socket.destroy()
  } finally {
    delete process.env['HTTPS_PROXY']
  }
})

test('what could not be used is not left open', async () => {
  const port = await listen(
    createTlsServer(certificate, (socket) => socket.on('error', () => {})),
    '127.0.0.1',
  )
  const isOpen = () => [...sockets].filter((socket) => !socket.destroyed).length
  await expect(dialer().connect(https(port, 'elsewhere.test'))).rejects.toMatchObject(
    code('upstream_tls'),
  )
  await expect.poll(isOpen).toBe(0)
  const silent = await listen(
    createServer((socket) => socket.on('error', () => {}).resume()),
    '127.0.0.1',
  )
  const clock = new SteppedClock()
  const connecting = dialer({ clock }).connect(https(silent))
  connecting.catch(() => {})
  await expect.poll(isOpen).toBe(1)
  clock.step(5_000)
  await expect(connecting).rejects.toMatchObject(code('upstream_timeout'))
  await expect.poll(isOpen).toBe(0)
  const socket = await dialer().connect(https(port))
  expect(isOpen()).toBe(1)
  socket.destroy()
  await expect.poll(isOpen).toBe(0)
})

test('all addresses of a name have ten seconds together', async () => {
  const port = await listen(createServer(), '127.0.0.1')
  const clock = new SteppedClock()
  const resolve = async () => ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1']
  const connecting = dialer({ clock, resolve }).connect(https(port))
  connecting.catch(() => {})
  for (let tried = 1; tried <= 2; tried++) {
    await expect.poll(() => sockets.size).toBeGreaterThanOrEqual(tried)
    await expect.poll(() => clock.waiting).toBe(1)
    clock.step(5_000)
  }
  await expect(connecting).rejects.toMatchObject(code('upstream_timeout'))
})

test('there are so many connections at once, and one that ends makes room', async () => {
  const port = await listen(
    createTlsServer(certificate, (socket) => socket.on('error', () => {})),
    '127.0.0.1',
  )
  const bounded = dialer({ mostSockets: 2 })
  const first = await bounded.connect(https(port))
  const second = await bounded.connect(https(port))
  await expect(bounded.connect(https(port))).rejects.toMatchObject(code('worker_busy'))
  first.destroy()
  await once(first, 'close')
  await expect(bounded.connect(https(port, 'elsewhere.test'))).rejects.toMatchObject(
    code('upstream_tls'),
  )
  const third = await bounded.connect(https(port))
  for (const socket of [second, third]) socket.destroy()
})
