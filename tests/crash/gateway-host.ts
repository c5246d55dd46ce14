/** One gateway with its worker, both of which may be killed at named steps and are brought back. */

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isAlive, killAndProveGone } from '../harness/processes.ts'
import { gatewaySource, type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { Plans } from './plans.ts'
import type { CrashEnvironment, Role } from './preload/step-book.ts'

export const preloadModule = fileURLToPath(new URL('./preload/preload.ts', import.meta.url))

export interface HostOptions {
  readonly folder: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly postgres?: boolean
  readonly skewMs?: number
  readonly workerSkewMs?: number
}

const lookEveryMs = 15
/** A supervisor whose workers end again and again makes a pause of a minute. */
const reviveWithinMs = 90_000

export class GatewayHost {
  readonly plans: Plans
  readonly sallyport: Sallyport

  private constructor(plans: Plans, sallyport: Sallyport) {
    this.plans = plans
    this.sallyport = sallyport
  }

  static async start(options: HostOptions): Promise<GatewayHost> {
    const { folder, args = [], env = {}, postgres = false, skewMs = 0, workerSkewMs = 0 } = options
    const plans = new Plans(folder)
    const environment: CrashEnvironment = {
      role: 'gateway',
      folder,
      postgres,
      skewMs,
      workerSkewMs,
    }
    const sallyport = await startSallyport({
      // What the preload does to a worker, no wall would let it do.
      args: [...args, '--worker-isolation', 'none'],
      env: { ...env, SALLYPORT_CRASH: JSON.stringify(environment) },
      preload: preloadModule,
      // The preload wraps the Postgres driver, which a bundle has inside.
      ...(postgres ? { program: gatewaySource } : {}),
    })
    return new GatewayHost(plans, sallyport)
  }

  get isUp(): boolean {
    return isAlive(this.plans.pid('gateway') ?? 0)
  }

  get isWorkerUp(): boolean {
    return isAlive(this.plans.pid('worker') ?? 0)
  }

  async kill(role: Exclude<Role, 'upstream'>): Promise<void> {
    await killAndProveGone(this.plans.pid(role) ?? 0)
  }

  /** Brings back what was killed; a plan may kill it once more meanwhile. Resolves when a gateway and its worker serve. */
  async revive(): Promise<void> {
    const until = performance.now() + reviveWithinMs
    for (let failure: unknown; !(await this.#serves()); await sleep(lookEveryMs)) {
      if (performance.now() > until)
        throw new Error(`does not serve\n${this.sallyport.output().slice(-3_000)}`, {
          cause: failure,
        })
      if (this.isUp) continue
      await this.sallyport.restart().catch((thrown) => {
        failure = thrown
      })
    }
  }

  async #serves(): Promise<boolean> {
    if (!this.isUp) return false
    const status = await this.sallyport.api('status.show').catch(() => undefined)
    return status?.worker.state === 'up' && status.worker.pid === this.plans.pid('worker')
  }

  remove(): Promise<void> {
    return this.sallyport.remove()
  }
}
