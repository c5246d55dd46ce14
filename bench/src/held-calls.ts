/**
 * What a held call costs the guest endpoint in memory: the real one on a core that holds every call, in a process of its
 * own, beside a bare node:http server that holds its answers. `node bench/src/held-calls.ts` prints KiB for each of the
 * second thousand of held calls, eight to a session. The resident size also has what V8 keeps in reserve for new objects.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Session } from '@sallyport/core'
import { digestBytes } from '@sallyport/protocol/node'
import { ownHosts } from '../../apps/gateway/src/http/allowed-hosts.ts'
import { createGuestEndpoint } from '../../apps/gateway/src/mcp/guest-endpoint.ts'
import { boundTool, toolsetOf } from '../../apps/gateway/src/mcp/scripted-core.ts'
import { modern, rpc } from '../../apps/gateway/src/mcp/scripted-guest.ts'
import { guestServerOptions } from '../../apps/gateway/src/mcp/timing.ts'

const calls = 1_000
const sessions = calls / 8
const argumentBytes = [200, 4_096, 65_536]
const kinds = ['bare', 'legacy', 'modern'] as const
type Kind = (typeof kinds)[number]

const tokenOf = (session: number): string => `${session}`.padStart(43, 'x')

interface Memory {
  readonly heap: number
  readonly outside: number
  readonly native: number
  readonly resident: number
}

function memory(): Memory {
  globalThis.gc?.()
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  return { heap: heapUsed, outside: external, native: rss - heapTotal, resident: rss }
}

/** Says its port, then answers each message with its memory. */
function serve(kind: Kind): void {
  let hosts: ReadonlySet<string> = new Set()
  const listener = kind === 'bare' ? bare : guest(() => hosts)
  const server = createServer(guestServerOptions, listener)
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
    const { port } = server.address() as AddressInfo
    hosts = ownHosts({ host: '127.0.0.1', port, publicUrl: undefined })
    process.send?.(port)
  })
  process.on('message', () => process.send?.(memory()))
  process.once('disconnect', () => process.exit(0))
}

const bare: RequestListener = (req, res) => {
  req.on('data', () => {})
  req.on('end', () => res.writeHead(200).flushHeaders())
}

function guest(hosts: () => ReadonlySet<string>): RequestListener {
  const byHash = new Map<string, Session>()
  for (let n = 0; n < sessions; n++) {
    const session = {
      id: `ses_${n}`,
      state: 'open',
      isolation: 'external',
      unavailable: [],
    } as unknown as Session
    byHash.set(digestBytes(tokenOf(n)), session)
  }
  const toolset = toolsetOf([boundTool({ name: 'write', access: 'write' })])
  const held: unknown[] = []
  const endpoint = createGuestEndpoint({
    sessions: { byTokenHash: async (hash) => byHash.get(hash), get: async () => undefined },
    toolsets: { of: async () => toolset, callable: async () => toolset.tools },
    calls: {
      call: (request) => {
        request.held?.()
        return new Promise((resolve) => held.push([request, resolve]))
      },
      collect: () => Promise.reject(new Error('nothing is collected here')),
    },
    listening: async (_session, open) => open(),
    settings: () => ({ bodyLimitBytes: 2 ** 22, maxCallsPerSession: 64, requestsPerMinute: 1e9 }),
    macKey: randomBytes(32),
    hosts,
    now: Date.now,
    random: randomBytes,
    report: (error) => process.stderr.write(`${error}\n`),
    release: '0.0.0',
  })
  return endpoint.handle
}

async function memoryOf(child: ChildProcess): Promise<Memory> {
  child.send('memory')
  const [answer] = await once(child, 'message')
  return answer
}

function requestOf(kind: Kind, port: number, session: number, bytes: number) {
  const _meta = {
    progressToken: 1,
    'claudecode/toolUseId': `toolu_${randomBytes(12).toString('hex')}`,
  }
  const params = { name: 'files__write', arguments: { text: 'x'.repeat(bytes) }, _meta }
  const { headers, body } =
    kind === 'modern'
      ? modern('tools/call', params)
      : { headers: {}, body: rpc('tools/call', params) }
  const lines = [
    'POST /mcp HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${tokenOf(session)}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'User-Agent: a harness of the usual length/1.2.3 (external, cli)',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'Connection: keep-alive',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

async function hold(port: number, text: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(text)
  const [head] = await once(socket, 'data')
  if (!`${head}`.startsWith('HTTP/1.1 200 OK')) throw new Error(`${head}`)
  return socket
}

async function measure(kind: Kind, bytes: number): Promise<string> {
  const argv = ['--expose-gc', fileURLToPath(import.meta.url), kind]
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [port] = (await once(child, 'message')) as [number]
  const sockets: Socket[] = []
  const holdAll = async (): Promise<Memory> => {
    for (let n = 0; n < calls; n++)
      sockets.push(await hold(port, requestOf(kind, port, n % sessions, bytes)))
    return memoryOf(child)
  }
  const [before, after] = [await holdAll(), await holdAll()]
  const kib = (of: keyof Memory) => ((after[of] - before[of]) / 1_024 / calls).toFixed(1)
  for (const socket of sockets) socket.destroy()
  const exited = once(child, 'exit')
  child.disconnect()
  await exited
  return `| ${kind} | ${bytes} | ${kib('heap')} | ${kib('outside')} | ${kib('native')} | ${kib('resident')} |\n`
}

const kind = kinds.find((name) => name === process.argv[2])
if (kind) {
  serve(kind)
} else {
  process.stdout.write('KiB for each held call\n\n')
  process.stdout.write('| server | argument bytes | heap | buffers | native | resident |\n')
  process.stdout.write('| --- | --- | --- | --- | --- | --- |\n')
  for (const bytes of argumentBytes)
    for (const of of kinds) process.stdout.write(await measure(of, bytes))
}
