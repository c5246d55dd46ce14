/** `sallyport up`. Prints where it serves, serves until a signal, ends with 0. */
import { type ErrorCode, release, toSallyportError } from '@sallyport/protocol'
import { keepMemoryOutOfDumps } from './core-dumps.ts'
import { openLog } from './log.ts'
import { databaseVariable } from './start/database-url.ts'
import { describeFailedStart } from './start/failed-start.ts'
import { startGateway } from './start/gateway.ts'
import { parseUpOptions, type UpOptions, UsageError, usage } from './start/options.ts'

const log = openLog(2, process.env['SALLYPORT_LOG'])

/** Their sentences say that the log has the rest. */
const sendsToLog: ReadonlySet<ErrorCode> = new Set([
  'bad_certificate',
  'internal',
  'worker_not_isolated',
])
const shownPassword = `the password of the database is shown to every user of this machine, in the process list: give its URL by --database-file or ${databaseVariable}, and change the password`
let understood: UpOptions | undefined

function fail(thrown: unknown): never {
  if (thrown instanceof UsageError) {
    process.stderr.write(`usage: ${thrown.message}. Try: sallyport up --help\n`)
    process.exit(2)
  }
  const error = toSallyportError(thrown)
  const { code, cause } = error
  log[sendsToLog.has(code) ? 'error' : 'debug']({ code, cause: String(cause) }, 'not started')
  process.stderr.write(`${describeFailedStart(error, understood)}\n`)
  process.exit(1)
}

function announce(options: UpOptions, ready: { url: string; guestUrl: string; tokenFile: string }) {
  if (options.json) {
    const { url, guestUrl, tokenFile } = ready
    const event = {
      event: 'ready',
      url,
      guestUrl,
      adminTokenFile: tokenFile,
      pid: process.pid,
      release,
    }
    process.stdout.write(`${JSON.stringify(event)}\n`)
    return
  }
  process.stdout.write(`Sallyport ${release} is ready.

  control API      ${ready.url}
  guest endpoint   ${ready.guestUrl}/mcp
  your token       ${ready.tokenFile}

Next, in another terminal:

  npx sallyport connection add NAME https://mcp.example.com/mcp --bearer-file FILE
  npx sallyport catalog discover NAME
  npx sallyport catalog review NAME --include '*' --read 'get_*'
`)
}

/** Resolves at the first signal, or when the launcher that started us is gone, perhaps killed. */
function told(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
      process.on(signal, () => resolve())
    if (!process.send) return
    process.on('disconnect', resolve)
    if (!process.connected) resolve()
  })
}

async function main(): Promise<void> {
  keepMemoryOutOfDumps()
  const args = process.argv.slice(2)
  const options = parseUpOptions(args[0] === 'up' ? args.slice(1) : args, process.env)
  if (!options) {
    process.stdout.write(usage)
    return
  }
  understood = options
  // What this process starts has no need of it.
  delete process.env[databaseVariable]
  if (options.isPasswordShown) log.warn({ flag: '--database' }, shownPassword)
  // Listened for from the beginning: who stops it while it starts has it stopped once it can be.
  const stop = told()
  const gateway = await startGateway(options, log, (error) => {
    // Nothing may be confirmed any more: better not to run than to promise what is not kept.
    log.fatal({ error: String(error) }, 'the database failed')
    process.exit(1)
  })
  announce(options, {
    url: gateway.url,
    guestUrl: gateway.guestUrl,
    tokenFile: gateway.adminTokenFile,
  })
  await stop
  await gateway.stop()
  process.exit(0)
}

process.on('unhandledRejection', (error) => {
  log.fatal({ error: error instanceof Error ? error.stack : String(error) }, 'unhandled rejection')
  process.exit(1)
})
main().catch(fail)
