/**
 * What the walls around the worker cost: the same calls with all of them and with none, in turns, five rounds. A difference
 * counts when it lies outside of what the rounds of one kind differ among themselves.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { methodHeaders } from './rpc.ts'
import { startSallyportTarget } from './sallyport-target.ts'
import { bundleGateway, runLoad, startServer } from './servers.ts'
import { spread } from './statistics.ts'

const rounds = 5
const kinds = { walls: 'require', none: 'none' } as const
const cases = [
  { tool: 'echo', concurrency: 1 },
  { tool: 'echo_write', concurrency: 1 },
  { tool: 'echo', concurrency: 64 },
] as const

const program = await bundleGateway()
const raw = await startServer('raw-upstream.ts')
const started = await Promise.all(
  Object.entries(kinds).map(async ([name, isolation]) => {
    const args = ['--worker-isolation', isolation]
    return { name, sallyport: await startSallyportTarget(raw, program, args) }
  }),
)
const measured = new Map<string, number[]>()

function note(key: string, value: number): void {
  measured.set(key, [...(measured.get(key) ?? []), value])
}

try {
  for (const { name, sallyport } of started) {
    await load(sallyport.target(), { tool: 'echo', concurrency: 16 }, 7_000)
    for (const ms of await sallyport.measureColdStarts(rounds)) note(`cold start, ms: ${name}`, ms)
    await load(sallyport.target(), { tool: 'echo', concurrency: 16 }, 7_000)
  }
  for (let round = 0; round < rounds; round++) {
    for (const one of cases) {
      for (const { name, sallyport } of round % 2 === 0 ? started : started.toReversed()) {
        await wait(300)
        const result = await load(sallyport.target(), one, 1_500)
        const of = `${one.tool}, c=${one.concurrency}`
        note(`${of}, p50 ms: ${name}`, result.p50)
        note(`${of}, calls/s: ${name}`, result.callsPerSecond)
      }
    }
  }
} finally {
  for (const { sallyport } of started) await sallyport.stop()
  await raw.stop()
}

for (const [key, values] of [...measured].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const { median, low, high } = spread(values)
  process.stdout.write(`${key}: ${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})\n`)
}

function load(
  { url, headers, servers }: ReturnType<(typeof started)[number]['sallyport']['target']>,
  { tool, concurrency }: { readonly tool: string; readonly concurrency: number },
  measureMs: number,
) {
  const all = { ...methodHeaders('tools/call', tool), ...headers }
  const job = { url, headers: all, servers, tool, payload: '200 B', concurrency } as const
  return runLoad({ ...job, warmMs: 300, measureMs })
}
