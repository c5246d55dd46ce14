/**
 * The worker processes of one data folder, kept in a file so that a gateway that comes after a crash knows which worker
 * it may adopt and which are proved gone.
 */
import { readFileSync } from 'node:fs'
import { writeDurably } from '../files/write-durably.ts'
import { isProvedGone, type ProcessIdentity } from './process-identity.ts'

export interface RegisteredWorker {
  readonly instance: string
  readonly process: ProcessIdentity
  /** Everything it was started with. */
  readonly command: readonly string[]
}

const kept = 32
/** Stands for the instance of one that has not told it. */
export const starting = 'starting'

export class WorkerRegister {
  readonly #path: string
  #workers: readonly RegisteredWorker[]

  /** A file that cannot be read proves nothing and stops nothing: its workers count as unknown. */
  constructor(path: string) {
    this.#path = path
    this.#workers = readWorkers(path)
  }

  record(worker: RegisteredWorker): void {
    const others = this.#workers.filter(
      ({ instance }) => ![worker.instance, starting].includes(instance),
    )
    this.#write([...others, worker])
  }

  /** One that has not said yet who it is: a gateway that is killed now leaves it to the next one to end. */
  recordStart(process: ProcessIdentity): void {
    const others = this.#workers.filter(({ instance }) => instance !== starting)
    this.#write([...others, { instance: starting, process, command: [] }])
  }

  #write(workers: readonly RegisteredWorker[]): void {
    this.#workers = workers.slice(-kept)
    writeDurably(this.#path, `${JSON.stringify(this.#workers, null, 2)}\n`)
  }

  find(instance: string): RegisteredWorker | undefined {
    return this.#workers.find((worker) => worker.instance === instance)
  }

  /** Those that are not proved gone. */
  living(): RegisteredWorker[] {
    return this.#workers.filter(({ process }) => !isProvedGone(process))
  }

  /** The process of that instance is known to have ended. */
  provedGone(instance: string): boolean {
    const worker = this.find(instance)
    return worker !== undefined && isProvedGone(worker.process)
  }
}

function readWorkers(path: string): readonly RegisteredWorker[] {
  try {
    const found: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return Array.isArray(found) ? found : []
  } catch {
    return []
  }
}
