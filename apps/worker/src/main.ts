/**
 * The worker process. It holds the key that opens credentials and nothing that lasts: no database, no policy. It is
 * started with an empty environment and arguments that are not secret, and outlives the gateway that started it.
 */
import './runtime.ts'
import { readFileSync } from 'node:fs'
import { SallyportError, toSallyportError } from '@sallyport/protocol'
import { systemClock } from './clock.ts'
import { keepMemoryOutOfDumps } from './core-dumps.ts'
import type { EgressPolicy, EgressRules } from './dialer/egress-policy.ts'
import { checkAuthorities } from './dialer/trust.ts'
import { becomeUser } from './isolation/become-user.ts'
import { checkProgram } from './isolation/check-program.ts'
import { type OwnCertificate, watchCertificate } from './link/renewed-certificate.ts'
import { jsonLines } from './log.ts'
import { parseOptions, type WorkerOptions } from './options.ts'
import { KeyRing } from './vault/key-ring.ts'
import { keySourceAt } from './vault/key-source-at.ts'
import { Worker } from './worker.ts'

const log = jsonLines(process.stderr, systemClock.now)
// The one who reads our lines may be gone long before us.
process.stdout.on('error', () => {})
// By default this signal opens a debugger, which could read every secret.
process.on('SIGUSR1', () => {})

process.on('uncaughtException', crash)
keepMemoryOutOfDumps()

try {
  await run(parseOptions(process.argv.slice(2)))
} catch (thrown) {
  const { code, cause } = toSallyportError(thrown)
  log.write('not_started', { code, because: String(cause ?? thrown) })
  process.stdout.write(`${JSON.stringify({ event: 'not_started', code })}\n`)
  process.exit(1)
}

async function run(options: WorkerOptions): Promise<void> {
  let isStopping = false
  const stop = async (why: string): Promise<void> => {
    if (isStopping) return
    isStopping = true
    log.write('stopping', { because: why })
    await worker.stop()
    log.write('stopped')
    process.exit(0)
  }
  if (options.runAs) becomeUser(options.runAs)
  checkProgram(import.meta.dirname)
  const source = keySourceAt(options.vaultKey, systemClock.now)
  const ring = await KeyRing.open({ source, monotonic: systemClock.monotonic })
  const own = readOwn(options)
  const worker = new Worker({
    place: options.place,
    groupSocket: options.groupSocket,
    ...own,
    authorityPem: readFileSync(options.ca, 'utf8'),
    ring,
    allowLocalUpstreams: options.allowLocalUpstreams,
    upstreamAuthorities: readAuthorities(options.upstreamCa),
    egressPolicy: await readRules(options.egressRules),
    egressProxy: options.egressProxy,
    reconnectWindowMs: options.reconnectWindowMs,
    build: options.build,
    log,
    abandoned: () => void stop('no gateway'),
  })
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
  const socket = await worker.start()
  watchCertificate({
    used: own,
    read: () => readOwn(options),
    use: (renewed) => worker.renew(renewed),
    clock: systemClock,
    log,
  })
  const { instance } = worker
  process.stdout.write(
    `${JSON.stringify({ event: 'listening', pid: process.pid, instance, socket })}\n`,
  )
  log.write('listening', { instance, pid: process.pid, build: options.build })
}

function readOwn({ cert, key }: WorkerOptions): OwnCertificate {
  return { certificatePem: readFileSync(cert, 'utf8'), privateKeyPem: readFileSync(key, 'utf8') }
}

/** What the operator wrote and nobody understands is told now, not when the first upstream is refused. */
async function readRules(rules: EgressRules | undefined): Promise<EgressPolicy | undefined> {
  if (rules === undefined) return undefined
  const { EgressPolicy } = await import('./dialer/egress-policy.ts')
  try {
    return new EgressPolicy(rules)
  } catch (cause) {
    throw new SallyportError('usage', { cause })
  }
}

/** A file that holds none is told now, not when the first upstream is not believed. */
function readAuthorities(path: string | undefined): readonly string[] | undefined {
  if (path === undefined) return undefined
  const pem = readFileSync(path, 'utf8')
  checkAuthorities(pem)
  return [pem]
}

/** Without the message, which may be of anything; the frames say where. */
function crash(thrown: Error): void {
  const frames = String(thrown.stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
  log.write('crashed', { because: thrown.name, at: frames.map((line) => line.trim()).join(' | ') })
  process.exit(1)
}
