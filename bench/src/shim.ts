/**
 * What a shim costs: `node bench/src/shim.ts [--rounds N] [--node PATH]`. From its start to the answer to `initialize`, and
 * resident memory then, each beside a bare Node that answers one line; and the round trip of a ping by each way.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { release } from '@sallyport/protocol'
import { startScripted } from '../../apps/gateway/src/mcp/scripted-core.ts'
import { GuestWays } from '../../apps/gateway/src/relay/guest-ways.ts'
import { Shim, shimFile } from '../../tests/shim/start-shim.ts'
import { percentile, spread } from './statistics.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    node: { type: 'string', default: process.execPath },
  },
})
const rounds = Number(values.rounds)
const pings = 200
const settleMs = 150

const folder = mkdtempSync(join(tmpdir(), 'sallyport-bench-shim-'))
const at = await startScripted({ options: { release, now: Date.now } })
const ways = new GuestWays({
  endpoint: at.endpoint,
  session: async () => session,
  admits: async () => true,
  holdMs: async () => 60_000,
  messageLimit: () => 2 ** 22,
  dataDir: join(folder, 'data'),
  now: Date.now,
  report: (error) => console.error(error),
})
const session = { id: 'ses_1', state: 'open' } as never

const bare = join(folder, 'bare.mjs')
writeFileSync(bare, `process.stdin.on('data', () => process.stdout.write('{}\\n'))\n`)
const token = join(folder, 'token')
writeFileSync(token, at.token, { mode: 0o600 })
const data = join(folder, 'data')
await import('node:fs/promises').then(({ mkdir }) => mkdir(data))
chmodSync(folder, 0o700)
const places = { socket: join(folder, 's'), relay: join(folder, 'r') }
await ways.open(session, await ways.check(places))

const byWay = {
  url: ['--url', at.url, '--token-file', token],
  socket: ['--socket', places.socket],
  fd: ['--fd', '3'],
  relay: ['--relay', places.relay],
} as const
type Way = keyof typeof byWay

/** A descriptor is a connection to the socket. */
async function inherited(way: Way): Promise<unknown[]> {
  if (way !== 'fd') return []
  const socket = connect(places.socket)
  await once(socket, 'connect')
  return [socket]
}

const initialize = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'b', version: '1' },
  },
})}\n`

async function measureStart(
  args: readonly string[],
  more: unknown[] = [],
): Promise<[ms: number, mib: number]> {
  const began = performance.now()
  const stdio = ['pipe', 'pipe', 'inherit', ...more] as never
  const child = spawn(values.node, args, { stdio, env: { PATH: process.env['PATH'] ?? '' } })
  child.stdin?.write(initialize)
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  const ms = performance.now() - began
  await wait(settleMs)
  const status = readFileSync(`/proc/${child.pid}/status`, 'latin1')
  const mib = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
  return [ms, mib]
}

async function measurePings(way: Way): Promise<number[]> {
  const shim = new Shim({ args: byWay[way], node: values.node, more: await inherited(way) })
  await shim.initialize()
  const taken: number[] = []
  for (let n = 0; n < pings; n++) {
    const began = performance.now()
    await shim.ask('ping')
    taken.push(performance.now() - began)
  }
  await shim.kill()
  return taken
}

const names = Object.keys(byWay) as Way[]
const starts = new Map<Way, { ms: number[]; mib: number[] }>()
for (const way of names) starts.set(way, { ms: [], mib: [] })
const bareMs: number[] = []
for (let round = 0; round < rounds; round++) {
  const [ofBare, bareMib] = await measureStart([bare])
  bareMs.push(ofBare)
  for (const way of names) {
    const [ms, mib] = await measureStart([shimFile, ...byWay[way]], await inherited(way))
    starts.get(way)?.ms.push(ms)
    starts.get(way)?.mib.push(mib - bareMib)
  }
}

const shown = (numbers: number[], digits: number): string => {
  const { median, low, high } = spread(numbers)
  return `${median.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`
}
// Medians of each, then their ratio: on a shared machine two starts after each other are no pair.
const floor = spread(bareMs)
console.log(`bare Node: ${shown(bareMs, 0)} ms\n`)
console.log(
  '| way | start to `initialize`, × bare Node (≤ 1.3) | of the quickest | ms | MiB above bare Node (≤ 6) | ping p50, ms | p99 |',
)
console.log('| --- | --- | --- | --- | --- | --- | --- |')
for (const way of names) {
  const { ms, mib } = starts.get(way) as { ms: number[]; mib: number[] }
  const ratios = [spread(ms).median / floor.median, spread(ms).low / floor.low]
  const taken = await measurePings(way)
  const cells = [
    way,
    ...ratios.map((ratio) => ratio.toFixed(2)),
    shown(ms, 0),
    shown(mib, 1),
    percentile(taken, 0.5).toFixed(2),
    percentile(taken, 0.99).toFixed(2),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
await ways.close()
await at.close()
rmSync(folder, { recursive: true })
process.exit(0)
