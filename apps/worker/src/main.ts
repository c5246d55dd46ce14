/**
 * The worker process. It holds the key that opens credentials and nothing that lasts: no database, no policy. It is
 * started with an empty environment and arguments that are not secret, and outlives the gateway that started it.
 *
 * Core dumps: whoever starts it limits them (RLIMIT_CORE); a process cannot do that for itself in Node.
 */
import './runtime.ts'
import { readFileSync } from 'node:fs'
import { toSallyportError } from '@sallyport/protocol'
import { systemClock } from './clock.ts'
import { jsonLines } from './log.ts'
import { parseOptions, type WorkerOptions } from './options.ts'
import { loadVaultKeys } from './vault/vault-key.ts'
import { Worker } from './worker.ts'

const log = jsonLines(process.stderr, systemClock.now)
// The one who reads our lines may be gone long before us.
process.stdout.on('error', () => {})
// By default this signal opens a debugger, which could read every secret.
process.on('SIGUSR1', () => {})

process.on('uncaughtException', crash)

try {
  await run(parseOptions(process.argv.slice(2)))
} catch (thrown) {
  const { code, cause } = toSallyportError(thrown)
  log.write('not_started', { code, because: String(cause ?? thrown) })
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
  const worker = new Worker({
    place: options.place,
    certificatePem: readFileSync(options.cert, 'utf8'),
    privateKeyPem: readFileSync(options.key, 'utf8'),
    authorityPem: readFileSync(options.ca, 'utf8'),
    vaultKeys: loadVaultKeys(options.vaultFd),
    allowLocalUpstreams: options.allowLocalUpstreams,
    upstreamAuthorities: options.upstreamCa
      ? [readFileSync(options.upstreamCa, 'utf8')]
      : undefined,
    reconnectWindowMs: options.reconnectWindowMs,
    build: options.build,
    log,
    abandoned: () => void stop('no gateway'),
  })
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
  const socket = await worker.start()
  process.stdout.write(`${JSON.stringify({ event: 'listening', pid: process.pid, socket })}\n`)
  log.write('listening', { instance: worker.instance, pid: process.pid, build: options.build })
}

/** Without the message, which may be of anything; the frames say where. */
function crash(thrown: Error): void {
  const frames = String(thrown.stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
  log.write('crashed', { because: thrown.name, at: frames.map((line) => line.trim()).join(' | ') })
  process.exit(1)
}
