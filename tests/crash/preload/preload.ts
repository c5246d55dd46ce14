/**
 * Loaded with `--import` into a gateway, a worker or an upstream that is to be killed at a named step. It wraps what they
 * stand on (the database driver, sockets, the flush of a file), so that nothing in them knows of it.
 */
import { writeFileSync } from 'node:fs'
import { hookSockets } from './hook-sockets.ts'
import { hookWorkerStart } from './hook-worker-start.ts'
import { skewClock } from './skew-clock.ts'
import { type CrashEnvironment, pidFile, StepBook } from './step-book.ts'

const environment = JSON.parse(process.env['SALLYPORT_CRASH'] ?? 'null') as CrashEnvironment
if (!environment) throw new TypeError('SALLYPORT_CRASH is needed')
const { role, folder, skewMs = 0, postgres } = environment

writeFileSync(pidFile(folder, role), String(process.pid))
skewClock(skewMs)
const book = new StepBook(environment)
hookSockets(role, book)
if (role === 'gateway') {
  hookWorkerStart(environment)
  if (postgres) (await import('./hook-postgres.ts')).hookPostgres(book)
  else (await import('./hook-sqlite.ts')).hookSqlite(book)
}
// The upstream is a program of ours: it says itself when a write takes effect.
if (role === 'upstream') Object.assign(globalThis, { crashBook: book })
