/**
 * A thousand calls that wait for a person, in one gateway: what each costs in memory, and what a read beside them costs
 * more. The whole program with everything on; `node bench/src/held-program.ts [--source]` prints both and exits with 1 when one
 * is over its target (docs/performance.md). What is measured is the second thousand: the first grows pools that stay.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connectAndGrant, type OpenSession } from '../../tests/harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../../tests/harness/start-sallyport.ts'
import { startUpstream, text } from '../../tests/upstreams/scripted-upstream.ts'
import { bundleGateway } from './servers.ts'
import { usageOf } from './usage.ts'

const calls = 1_000
const perSession = 8
const reads = 300
const targets = { kib: 40, ratio: 1.5 }

const schema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
const run = () => text('done')
const upstream = await startUpstream({
  tools: [
    { name: 'look', inputSchema: schema, run },
    { name: 'store', inputSchema: schema, run },
  ],
})
const isSource = process.argv.includes('--source')
const sallyport = await startSallyport(isSource ? {} : { program: await bundleGateway() })
const sockets: Socket[] = []
try {
  process.exitCode = (await measure(sallyport)) ? 0 : 1
} finally {
  for (const socket of sockets) socket.destroy()
  await sallyport.remove()
  await upstream.close()
}

async function measure(target: Sallyport): Promise<boolean> {
  const reader = await connectAndGrant(target, {
    name: 'notes',
    url: upstream.url,
    profile: 'held',
    settings: { holdSeconds: 3600 },
    read: ['look'],
    write: ['store'],
  })
  for (let n = 0; n < 3; n++) await readMs(target, reader)
  const before = await readMs(target, reader)
  await hold(target, calls)
  const first = usageOf(target.pid).rssMib
  await hold(target, calls)
  const second = usageOf(target.pid).rssMib
  const beside = await readMs(target, reader)
  const kib = ((second - first) * 1024) / calls
  const ratio = beside / before
  console.info(
    `${kib.toFixed(1)} KiB resident for each of the second ${calls} held calls (target ${targets.kib})`,
  )
  console.info(
    `read beside ${2 * calls} of them: median ${beside.toFixed(2)} ms, without ${before.toFixed(2)} ms: ${ratio.toFixed(2)} x (target ${targets.ratio})`,
  )
  return kib <= targets.kib && ratio <= targets.ratio
}

async function hold(target: Sallyport, count: number): Promise<void> {
  for (let n = 0; n < count / perSession; n++) {
    const session = await target.api('session.create', {}, { profile: 'held' })
    await Promise.all(
      Array.from({ length: perSession }, (_, at) =>
        holdOne(target, session, `${sockets.length} ${at}`),
      ),
    )
  }
}

/** Resolves when the head of the answer has come, which is when the call is held. */
async function holdOne(target: Sallyport, { token }: OpenSession, id: string): Promise<void> {
  const { hostname, port } = new URL(target.guestUrl)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  const params = { name: 'store', arguments: { id } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  socket.write(
    [
      'POST /mcp/notes HTTP/1.1',
      `Host: ${hostname}:${port}`,
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'MCP-Protocol-Version: 2025-11-25',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
  const [head] = await once(socket, 'data')
  if (!String(head).includes('text/event-stream')) throw new Error(`not held: ${head}`)
}

/** Median of reads one after the other. */
async function readMs(target: Sallyport, { token }: OpenSession): Promise<number> {
  const took: number[] = []
  for (let n = 0; n < reads; n++) {
    const start = performance.now()
    const response = await fetch(`${target.guestUrl}/mcp/notes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json',
        'mcp-protocol-version': '2025-11-25',
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"id":"x"}}}`,
    })
    const said = await response.text()
    if (!said.includes('done')) throw new Error(`wrong answer to a read: ${said}`)
    took.push(performance.now() - start)
  }
  return took.sort((a, b) => a - b)[reads / 2] as number
}
