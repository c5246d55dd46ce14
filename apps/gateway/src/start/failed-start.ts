/** What `up` tells, in one line, of a start that failed. */
import { join } from 'node:path'
import { type ErrorCode, errors, escapeText, type SallyportError } from '@sallyport/protocol'
import type { WorkerAddress } from '../worker/dial.ts'
import type { UpOptions } from './options.ts'

/** Their sentences say that the log of the worker has the rest. */
const sendToWorkerLog: ReadonlySet<ErrorCode> = new Set([
  'worker_not_started',
  'vault_key_unusable',
])

/** Without its end. `options`: when they were understood before it failed. */
export function describeFailedStart(
  { code, cause }: SallyportError,
  options: Pick<UpOptions, 'dataDir' | 'worker'> | undefined,
): string {
  const { text, who } = errors[code]
  const next = options && sendToWorkerLog.has(code) ? ` ${nextStep(options, cause)}` : ''
  return `${code}: ${text} — who can act: ${who}.${next}`
}

function placeOf(worker: WorkerAddress): string {
  if ('path' in worker) return worker.path
  const { host, port } = worker
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function nextStep({ dataDir, worker }: Pick<UpOptions, 'dataDir' | 'worker'>, cause: unknown) {
  if (worker) {
    const place = placeOf(worker)
    return escapeText(`Somebody else starts it, to listen at ${place}; begin there.`)
  }
  const why = cause instanceof Error && cause.message !== '' ? `, which says: ${cause.message}` : ''
  return escapeText(`See ${join(dataDir, 'gateway', 'worker.log')}${why}`)
}
