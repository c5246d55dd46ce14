import { SallyportError } from '@sallyport/protocol'
import type { Hello } from '@sallyport/protocol/node'
import { endProcess } from './end-process.ts'
import { judgeHello } from './judge-hello.ts'
import type { Log } from './log.ts'
import { identifyProcess, isProvedGone, type ProcessIdentity } from './process-identity.ts'
import type { RegisteredWorker, WorkerRegister } from './worker-register.ts'

export interface AdoptOptions {
  /** What the worker on the socket says, or undefined when none does. */
  readonly hello: Hello | undefined
  readonly register: WorkerRegister
  /** What a worker must have been started with. */
  readonly command: readonly string[]
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
  if (hello && !adopted) await end(identifyClaimed(hello.pid), log)
  for (const worker of register.living()) if (worker !== adopted) await end(worker.process, log)
  return adopted
}

function isOurs(hello: Hello, known: RegisteredWorker, { command, now }: AdoptOptions): boolean {
  return (
    judgeHello(hello, now) === undefined &&
    hello.pid === known.process.pid &&
    !isProvedGone(known.process) &&
    JSON.stringify(known.command) === JSON.stringify(command)
  )
}

/** A worker of another release may say hello in another form. */
function identifyClaimed(pid: unknown): ProcessIdentity | undefined {
  const isPlausible = Number.isSafeInteger(pid) && (pid as number) > 1
  return isPlausible ? identifyProcess(pid as number) : undefined
}

async function end(process: ProcessIdentity | undefined, log: Log): Promise<void> {
  if (!process) return
  log.warn({ pid: process.pid }, 'ending an earlier worker')
  if (await endProcess(process)) return
  const cause = new Error(`process ${process.pid}, an earlier worker, does not end`)
  throw new SallyportError('worker_down', { cause })
}
