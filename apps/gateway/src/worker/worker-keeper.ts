/** The worker that a gateway works with, as far as the gateway has to do with its process. */
import type { SupervisedWorker } from './admin.ts'
import type { WorkerAddress } from './dial.ts'

export interface WorkerKeeper {
  readonly address: WorkerAddress
  /** Resolves when there is one to be dialled, as far as this can tell. */
  start(): Promise<void>
  stop(): Promise<void>
  /** The one that was started here; null when there is none, or it is not this gateway's to start. */
  state(): SupervisedWorker | null
  /** The process of that instance is known to have ended. */
  provedGone(instance: string): boolean
}

/** A worker that somebody else starts, stops and isolates: another unit, container or machine. */
export function standingWorker(address: WorkerAddress): WorkerKeeper {
  return {
    address,
    start: async () => {},
    stop: async () => {},
    state: () => null,
    provedGone: () => false,
  }
}
