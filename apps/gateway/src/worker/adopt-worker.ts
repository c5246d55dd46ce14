import { SallyportError, toSallyportError } from '@sallyport/protocol'
import { type Hello, readProcessWalls } from '@sallyport/protocol/node'
import { endGroup, endProcess } from './end-process.ts'
import { judgeHello } from './judge-hello.ts'
import type { Log } from './log.ts'
import { identifyProcess, isProvedGone, type ProcessIdentity } from './process-identity.ts'
import { type RegisteredWorker, starting, type WorkerRegister } from './worker-register.ts'

export interface AdoptOptions {
  /** What the worker on the socket says, or undefined when none does. */
  readonly hello: Hello | undefined
  readonly register: WorkerRegister
  /** What a worker must have been started with. */
  readonly command: readonly string[]
  /** Throws when it is less isolated than it has to be. */
  readonly accept: (hello: Hello) => void
  readonly now: number
  readonly log: Log
}

/**
 * The worker that an earlier gateway left, when it is one that would be started in just this way. Whatever else is
 * there is ended: two workers on one data folder would hold two memories of results. Throws `worker_down` when it
 * cannot be.
 */
export async function adoptWorker(options: AdoptOptions): Promise<RegisteredWorker | undefined> {
  const { hello, register, log } = options
  const known = hello && register.find(hello.instance)
  const adopted = hello && known && isOurs(hello, known, options) ? known : undefined
  if (hello && !adopted) await end(identifyClaimed(hello), log)
  for (const worker of register.living()) {
    if (worker === adopted) continue
    await end(worker.process, log, worker.instance === starting ? endGroup : endProcess)
  }
  return adopted
}

function isOurs(hello: Hello, known: RegisteredWorker, options: AdoptOptions): boolean {
  const { command, now } = options
  return (
    judgeHello(hello, now) === undefined &&
    !isProvedGone(known.process) &&
    JSON.stringify(known.command) === JSON.stringify(command) &&
    isIsolated(hello, options)
  )
}

function isIsolated(hello: Hello, { accept, log }: AdoptOptions): boolean {
  try {
    accept(hello)
    return true
  } catch (thrown) {
    const { code, cause } = toSallyportError(thrown)
    log.warn({ code, cause: String(cause) }, 'an earlier worker is not adopted')
    return false
  }
}

/**
 * A worker of another release may say hello in another form, and one that counts processes for itself names somebody
 * else's number.
 */
function identifyClaimed({ pid, walls }: Hello): ProcessIdentity | undefined {
  const isPlausible = Number.isSafeInteger(pid) && pid > 1
  const countsAsWe =
    !walls?.namespaces || walls.namespaces.pid === readProcessWalls().namespaces?.pid
  return isPlausible && countsAsWe ? identifyProcess(pid) : undefined
}

async function end(process: ProcessIdentity | undefined, log: Log, by = endProcess): Promise<void> {
  if (!process) return
  log.warn({ pid: process.pid }, 'ending an earlier worker')
  if (await by(process)) return
  const cause = new Error(`process ${process.pid}, an earlier worker, does not end`)
  throw new SallyportError('worker_down', { cause })
}
