import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ScriptedProxy } from '../testing/scripted-proxy.ts'
import { serverCertificate } from '../testing/server-certificate.ts'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { Dialer, type DialerOptions } from './dialer.ts'
import { EgressPolicy } from './egress-policy.ts'
import { parseProxy } from './egress-proxy.ts'

const certificate = serverCertificate('DNS:mcp.dev,IP:8.8.8.8,DNS:localhost')
let server: Server
let proxy: ScriptedProxy
let names: unknown[]
const clock = new SteppedClock()

beforeEach(async () => {
  names = []
  server = createServer(certificate, (socket: TLSSocket) => {
    names.push(socket.servername)
    socket.on('error', () => {})
    socket.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy = await ScriptedProxy.start((server.address() as AddressInfo).port)
})
afterEach(async () => {
  await proxy.stop()
  server.close()
  await once(server, 'close')
})

/** What is known here: `addresses`, or nothing. */
function dialer(
  resolves: boolean,
  addresses: readonly string[] = [],
  options: Partial<DialerOptions> = {},
): Dialer {
  return new Dialer({
    localAllowed: false,
    authorities: [certificate.cert],
    clock,
    ownListeners: new Map(),
    proxy: { host: '127.0.0.1', port: proxy.port, resolves },
    resolve: async () => addresses,
    ...options,
  })
}

const to = (host: string, port = 443) => ({ scheme: 'https', host, port }) as const
const code = (expected: string) => ({ code: expected })

test('asks for the judged address, and the certificate must name the name', async () => {
  const socket = await dialer(false, ['8.8.8.8']).connect(to('mcp.dev'))
  expect(proxy.asked).toEqual(['8.8.8.8:443'])
  await expect.poll(() => names).toEqual(['mcp.dev'])
  socket.destroy()
  await expect(dialer(false, ['8.8.8.8']).connect(to('other.dev'))).rejects.toMatchObject(
    code('upstream_tls'),
  )
})

test('asks for an address in its brackets', async () => {
  const connected = dialer(false, ['2606:4700::1']).connect(to('mcp.dev', 8443))
  ;(await connected).destroy()
  expect(proxy.asked).toEqual(['[2606:4700::1]:8443'])
})

test('a proxy that resolves is asked for the name, known here or not', async () => {
  for (const known of [[], ['8.8.8.8', '1.1.1.1']]) {
    const socket = await dialer(true, known).connect(to('mcp.dev'))
    socket.destroy()
  }
  expect(proxy.asked).toEqual(['mcp.dev:443', 'mcp.dev:443'])
  const literal = await dialer(true).connect(to('8.8.8.8'))
  literal.destroy()
  expect(proxy.asked.at(-1)).toBe('8.8.8.8:443')
})

test('a name that is not known here is not asked for, unless the proxy resolves', async () => {
  await expect(dialer(false).connect(to('mcp.dev'))).rejects.toMatchObject(code('upstream_dns'))
  expect(proxy.asked).toEqual([])
})

test.each([true, false])(
  'what is known to be bad is not asked for (resolves: %s)',
  async (resolves) => {
    for (const bad of [
      '10.0.0.1',
      '169.254.169.254',
      '127.0.0.1',
      '::ffff:8.8.8.8',
      '64:ff9b::808:808',
    ]) {
      for (const addresses of [[bad], ['8.8.8.8', bad]])
        await expect(dialer(resolves, addresses).connect(to('mcp.dev'))).rejects.toMatchObject(
          code('upstream_blocked_address'),
        )
    }
    for (const literal of ['10.0.0.1', '127.0.0.1', '[fd00::1]', '[::1]'])
      await expect(dialer(resolves, ['8.8.8.8']).connect(to(literal))).rejects.toMatchObject(
        code('upstream_blocked_address'),
      )
    expect(proxy.asked).toEqual([])
  },
)

test('names of special use are not asked for, whatever they are here', async () => {
  for (const name of [
    'localhost',
    'a.localhost',
    'printer.local',
    'x.internal',
    'metadata',
    'x.lan',
  ])
    for (const known of [[], ['8.8.8.8']])
      await expect(dialer(true, known).connect(to(name))).rejects.toMatchObject(
        code('upstream_blocked_address'),
      )
  expect(proxy.asked).toEqual([])
})

test('a rule against an address is kept where it can be, and a list of names where it cannot', async () => {
  const deny = new EgressPolicy({ deny: ['8.8.8.0/24', '*.evil.dev'] })
  const allow = new EgressPolicy({ allow: ['mcp.dev'] })
  const refused: [readonly string[], EgressPolicy, string][] = [
    [['8.8.8.8'], deny, 'mcp.dev'],
    [[], deny, 'x.evil.dev'],
    [[], allow, 'other.dev'],
    [['8.8.8.8'], allow, 'other.dev'],
  ]
  for (const [known, policy, host] of refused)
    await expect(dialer(true, known, { policy }).connect(to(host))).rejects.toMatchObject(
      code('upstream_blocked_address'),
    )
  expect(proxy.asked).toEqual([])
  for (const policy of [deny, allow])
    (await dialer(true, [], { policy }).connect(to('mcp.dev'))).destroy()
  expect(proxy.asked).toHaveLength(2)
})

test('this machine is dialled, not asked for', async () => {
  const { port } = server.address() as AddressInfo
  const local = await dialer(true, [], { localAllowed: true }).connect(to('localhost', port))
  local.destroy()
  expect(proxy.asked).toEqual([])
})

test.each([
  'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
  'HTTP/1.1 403 Forbidden\r\ncontent-length: 3\r\n\r\nno!',
  'HTTP/1.1 302 Found\r\nlocation: https://elsewhere.dev/\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/2 200\r\n\r\n',
  'SSH-2.0-x\r\n\r\n',
  `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(9_000)}\r\n\r\n`,
  `HTTP/1.1 200 ${'y'.repeat(9_000)}`,
])('a proxy that answers so opens no tunnel: %.40s', async (answer) => {
  proxy.answer = answer
  await expect(dialer(false, ['8.8.8.8']).connect(to('mcp.dev'))).rejects.toMatchObject(
    code('upstream_unreachable'),
  )
  expect(names).toEqual([])
})

test('a proxy does not speak for the target', async () => {
  proxy.after = 'x'
  await expect(dialer(false, ['8.8.8.8']).connect(to('mcp.dev'))).rejects.toMatchObject(
    code('upstream_unreachable'),
  )
})

test('a proxy that says nothing is not waited for', async () => {
  proxy.answer = ''
  const connecting = dialer(false, ['8.8.8.8']).connect(to('mcp.dev'))
  connecting.catch(() => {})
  await expect.poll(() => proxy.asked).toHaveLength(1)
  clock.step(5_000)
  await expect(connecting).rejects.toMatchObject(code('upstream_timeout'))
})

test('a proxy may have a name, of a private network too', async () => {
  const { port } = proxy
  const resolve = async (host: string) => (host === 'proxy.corp' ? ['127.0.0.1'] : ['8.8.8.8'])
  const named = { host: 'proxy.corp', port, resolves: false }
  const socket = await dialer(false, [], { proxy: named, resolve }).connect(to('mcp.dev'))
  socket.destroy()
  const lost = { host: 'lost.corp', port, resolves: false }
  const lostResolve = async (host: string) => (host === 'lost.corp' ? [] : ['8.8.8.8'])
  await expect(
    dialer(false, [], { proxy: lost, resolve: lostResolve }).connect(to('mcp.dev')),
  ).rejects.toMatchObject(code('upstream_unreachable'))
})

test('is configured as a URL without user and path', () => {
  expect(parseProxy('http://Proxy.Corp:3128', false)).toEqual({
    host: 'proxy.corp',
    port: 3128,
    resolves: false,
  })
  expect(parseProxy('http://[fd00::1]/', true)).toEqual({
    host: 'fd00::1',
    port: 80,
    resolves: true,
  })
  for (const bad of [
    '',
    'proxy:3128',
    'https://proxy',
    'socks5://proxy',
    'http://u:p@proxy',
    'http://u@proxy',
    'http://proxy/x',
    'http://proxy?x',
    'http://proxy#x',
  ])
    expect(() => parseProxy(bad, false), bad).toThrow(TypeError)
})
