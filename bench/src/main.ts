/**
 * `npm run bench [-- [--smoke] [--rounds N] [--source]]`: what Sallyport costs, against the same calls without it. It is
 * measured as it ships, bundled; `--source` runs the sources.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Machine, smokeFailures } from './goals.ts'
import { type Case, Measurements } from './measurement.ts'
import { jsonReport, markdown } from './report.ts'
import { type Plan, runRounds, type Target } from './rounds.ts'
import { startSallyportTarget } from './sallyport-target.ts'
import { bundleGateway, startServer } from './servers.ts'

const folder = fileURLToPath(new URL('../.out/', import.meta.url))

const small =
  (access: Case['access']) =>
  (concurrency: number): Case => ({
    access,
    payload: '200 B',
    concurrency,
  })
const large =
  (payload: Case['payload']) =>
  (concurrency: number): Case => ({
    access: 'read',
    payload,
    concurrency,
  })

/** Both are compared warm, and the SDK's server, as ours, gets quicker for several seconds. */
const warmUpMs = 7_000
/** Each run has a client of its own, which takes from whoever needs both cores while it is compiled. */
const warmMs = 1_000

const full: Plan = {
  rounds: 3,
  cases: [
    ...[1, 16, 64].map(small('read')),
    ...[1, 16, 64].map(small('write')),
    ...[1, 16, 64].map(large('64 KiB text')),
    ...[1, 16, 64].map(large('64 KiB objects')),
  ],
  warmUpMs,
  warmMs,
  measureMs: 1_000,
}

const smoke: Plan = {
  rounds: 3,
  cases: [
    small('read')(1),
    small('write')(1),
    small('read')(16),
    small('read')(64),
    large('64 KiB text')(16),
    large('64 KiB objects')(16),
  ],
  warmUpMs,
  warmMs,
  measureMs: 800,
}

async function measure(
  plan: Plan,
  coldStarts: number,
  program: string | undefined,
): Promise<[Measurements, Machine]> {
  const measurements = new Measurements()
  const raw = await startServer('raw-upstream.ts')
  const sdk = await startServer('sdk-upstream.ts')
  const sallyport = await startSallyportTarget(raw, program)
  try {
    const coldStartMs = await sallyport.measureColdStarts(coldStarts)
    const idleRssMib = sallyport.residentMib()
    const targets: Target[] = [
      { name: 'direct', url: raw.url, headers: {}, servers: { upstream: raw.pid } },
      { name: 'sdk', url: sdk.url, headers: {}, servers: { upstream: sdk.pid } },
      sallyport.target(),
    ]
    await runRounds(plan, targets, measurements)
    return [measurements, { idleRssMib, coldStartMs }]
  } finally {
    await sallyport.stop()
    await sdk.stop()
    await raw.stop()
  }
}

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    source: { type: 'boolean', default: false },
    rounds: { type: 'string' },
  },
})
const chosen = values.smoke ? smoke : full
const plan = values.rounds ? { ...chosen, rounds: Number(values.rounds) } : chosen
const program = values.source ? undefined : await bundleGateway()
const [measurements, machine] = await measure(plan, values.smoke ? 3 : 9, program)

const report = markdown(measurements, machine)
mkdirSync(folder, { recursive: true })
writeFileSync(`${folder}report.generated.md`, report)
writeFileSync(`${folder}report.generated.json`, jsonReport(measurements, machine))
process.stdout.write(`${report}\n`)

const failures = values.smoke ? smokeFailures(measurements, machine) : []
for (const failure of failures) process.stderr.write(`too slow: ${failure}\n`)
process.exitCode = failures.length === 0 ? 0 : 1
