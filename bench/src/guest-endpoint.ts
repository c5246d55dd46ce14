/**
 * What the guest endpoint alone costs: the real one on a core that answers at once, beside a bare node:http server that
 * answers the same. `node bench/src/guest-endpoint.ts` prints µs of CPU per call of the serving process.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Calls } from '@sallyport/core'
import { ownHosts } from '../../apps/gateway/src/http/allowed-hosts.ts'
import { createGuestEndpoint } from '../../apps/gateway/src/mcp/guest-endpoint.ts'
import { boundTool, toolsetOf } from '../../apps/gateway/src/mcp/scripted-core.ts'
import { guestServerOptions } from '../../apps/gateway/src/mcp/timing.ts'
import type { Payload } from './rpc.ts'
import { runLoad } from './servers.ts'

const kinds = ['bare', 'guest'] as const
type Kind = (typeof kinds)[number]

function listenerOf(kind: Kind, port: () => number): RequestListener {
  return kind === 'bare' ? bare : guest(port)
}

const bare: RequestListener = (req, res) => {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    const { id, params } = JSON.parse(Buffer.concat(chunks).toString())
    const result = { content: [{ type: 'text', text: params.arguments.nonce }] }
    const body = JSON.stringify({ jsonrpc: '2.0', id, result })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    res.writeHead(200, headers).end(body)
  })
}

function guest(port: () => number): RequestListener {
  const toolset = toolsetOf([boundTool({ connection: 'bench', name: 'echo' })])
  const session = { id: 'ses_1', state: 'open', isolation: 'external', unavailable: [] } as never
  const calls: Calls = {
    call: async ({ argumentsText }) => {
      const text = argumentsText.slice(10, 20)
      const result = Buffer.from(`{"content":[{"type":"text","text":"${text}"}]}`)
      return { kind: 'result', executionId: 'exe_1' as never, result, isError: false }
    },
    collect: () => Promise.reject(new Error('nothing is held here')),
  }
  let hosts: ReadonlySet<string> | undefined
  const endpoint = createGuestEndpoint({
    sessions: { byTokenHash: async () => session, get: async () => session },
    toolsets: { of: async () => toolset, callable: async () => toolset.tools },
    calls,
    listening: async (_session, open) => open(),
    settings: () => ({ bodyLimitBytes: 2 ** 22, maxCallsPerSession: 999, requestsPerMinute: 1e9 }),
    macKey: randomBytes(32),
    hosts: () => {
      hosts ??= ownHosts({ host: '127.0.0.1', port: port(), publicUrl: undefined })
      return hosts
    },
    now: Date.now,
    random: randomBytes,
    report: (error) => process.stderr.write(`${error}\n`),
    release: '0.0.0',
  })
  return endpoint.handle
}

function serve(kind: Kind): void {
  const server: Server = createServer(
    guestServerOptions,
    listenerOf(kind, () => (server.address() as AddressInfo).port),
  )
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
  })
  process.once('disconnect', () => process.exit(0))
}

async function measure(payload: Payload, concurrency: number): Promise<string> {
  const costs: string[] = []
  for (const kind of kinds) {
    const file = fileURLToPath(import.meta.url)
    const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as const
    const child = spawn(process.execPath, [file, kind], { stdio: [...stdio] })
    const [port] = await once(createInterface({ input: child.stdout as never }), 'line')
    const result = await runLoad({
      url: `http://127.0.0.1:${port}/mcp`,
      headers: { Authorization: `Bearer ${'x'.repeat(43)}` },
      tool: 'bench__echo',
      payload,
      concurrency,
      warmMs: 4_000,
      measureMs: 4_000,
      servers: { [kind]: child.pid as number },
    })
    const exited = once(child, 'exit')
    child.kill()
    await exited
    const cost = result.servers[kind]?.cpuUsPerCall.toFixed(1)
    const foreign = `${(result.foreign * 100).toFixed(0)} %`
    costs.push(`${cost} (${result.callsPerSecond.toFixed(0)}/s, foreign ${foreign})`)
  }
  return `| ${payload} | ${concurrency} | ${costs.join(' | ')} |\n`
}

const kind = kinds.find((name) => name === process.argv[2])
if (kind) {
  serve(kind)
} else {
  process.stdout.write('| payload | c | bare node:http, µs a call | guest endpoint, µs a call |\n')
  process.stdout.write('| --- | --- | --- | --- |\n')
  for (const concurrency of [1, 16, 64]) process.stdout.write(await measure('200 B', concurrency))
  process.stdout.write(await measure('64 KiB text', 16))
  process.stdout.write(await measure('64 KiB objects', 16))
}
