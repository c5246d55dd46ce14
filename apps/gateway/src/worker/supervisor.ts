/**
 * Keeps one worker process running for a data folder. A worker outlives its gateway, so the first thing is to look for
 * one that is there already; only one that was started in just this way is adopted.
 */
import type { ChildProcess } from 'node:child_process'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SallyportError, toSallyportError } from '@sallyport/protocol'
import type { Hello } from '@sallyport/protocol/node'
import { adoptWorker } from './adopt-worker.ts'
import { type ChannelOptions, openChannel } from './channel.ts'
import type { WorkerAddress } from './dial.ts'
import { endProcess } from './end-process.ts'
import type { Log } from './log.ts'
import { identifyProcess, isProvedGone } from './process-identity.ts'
import { SocketPlace } from './socket-place.ts'
import { spawnWorker } from './spawn-worker.ts'
import { type RegisteredWorker, WorkerRegister } from './worker-register.ts'

export interface SupervisorOptions extends Omit<ChannelOptions, 'address'> {
  /** The caller holds it: no other gateway supervises a worker there. */
  readonly dataDir: string
  /** What the worker shows and whom it trusts. */
  readonly workerFiles: { readonly cert: string; readonly key: string; readonly ca: string }
  readonly build: string
  readonly allowLocalUpstreams: boolean
  /** `vault.key` in the worker's folder by default; all workers of a deployment share one. */
  readonly vaultKeyFile?: string
  /** How long the worker outlives its gateway; its own default when not given. */
  readonly reconnectWindowMs?: number
  /** The program; the worker of this source tree by default. */
  readonly entry?: string
  readonly log: Log
}

const lookEveryMs = 500
const startsPerMinute = 10
const minute = 60_000
const lastDelayMs = 5_000

export class WorkerSupervisor {
  readonly address: WorkerAddress
  readonly #options: SupervisorOptions
  readonly #folder: string
  readonly #place: SocketPlace
  readonly #command: readonly string[]
  readonly #vaultKeyFile: string
  /** What a worker must have been started with to be adopted. */
  readonly #started: readonly string[]
  readonly #register: WorkerRegister
  #current: RegisteredWorker | undefined
  #starts: number[] = []
  #isRunning = false
  #launching: Promise<void> = Promise.resolve()
  #cancelTimer = (): void => {}

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#place = new SocketPlace(options.dataDir)
    this.address = { path: this.#place.path }
    this.#command = commandOf(options, this.#place.path)
    this.#folder = resolve(options.dataDir, 'worker')
    this.#vaultKeyFile = resolve(options.vaultKeyFile ?? join(this.#folder, 'vault.key'))
    this.#started = [...this.#command, this.#vaultKeyFile]
    this.#register = new WorkerRegister(join(this.#folder, 'processes.json'))
  }

  /** Resolves when a worker listens. Rejects with `worker_down` or `data_not_writable`; then none is left. */
  async start(): Promise<void> {
    this.#isRunning = true
    const { clock, log } = this.#options
    this.#current = await adoptWorker({
      hello: await this.#askHello().catch(() => undefined),
      register: this.#register,
      command: this.#started,
      now: clock.now(),
      log,
    })
    if (!this.#current) return await this.#launch()
    log.info(this.state() ?? {}, 'worker adopted')
    this.#watchAdopted(this.#current)
  }

  /** Ends the worker and removes its socket. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelTimer()
    await this.#launching
    if (this.#current) await endProcess(this.#current.process)
    this.#current = undefined
    this.#place.remove()
  }

  /** The worker that runs now. */
  state(): { readonly instance: string; readonly pid: number } | null {
    return this.#current
      ? { instance: this.#current.instance, pid: this.#current.process.pid }
      : null
  }

  /** The process of that instance is known to have ended; false also when it was never seen. */
  provedGone(instance: string): boolean {
    return this.#register.provedGone(instance)
  }

  async #askHello(): Promise<Hello> {
    const { identity, clock, hello } = this.#options
    const channel = await openChannel({ address: this.address, identity, clock, hello })
    await channel.close()
    return channel.hello
  }

  #launch(): Promise<void> {
    const launched = this.#spawn()
    this.#launching = launched.catch(() => {})
    return launched
  }

  async #spawn(): Promise<void> {
    const { clock, log } = this.#options
    this.#starts.push(clock.now())
    this.#place.prepare()
    const child = await spawnWorker({
      command: this.#command,
      vaultKeyFile: this.#vaultKeyFile,
      logFile: join(this.#folder, 'worker.log'),
      clock,
    })
    const identity = identifyProcess(child.pid as number)
    try {
      const { instance, pid } = await this.#askHello()
      if (!identity || pid !== identity.pid) throw new SallyportError('worker_down')
      const worker = { instance, process: identity, command: this.#started }
      this.#register.record(worker)
      this.#current = worker
      log.info({ worker: instance, workerPid: pid }, 'worker started')
      this.#watchChild(worker, child)
    } catch (thrown) {
      if (identity) await endProcess(identity)
      throw thrown
    }
  }

  #watchChild(worker: RegisteredWorker, child: ChildProcess): void {
    const { exitCode, signalCode } = child
    if (exitCode !== null || signalCode !== null) this.#ended(worker)
    else child.once('exit', () => this.#ended(worker))
  }

  #watchAdopted(worker: RegisteredWorker): void {
    this.#cancelTimer = this.#options.clock.after(lookEveryMs, () => {
      if (isProvedGone(worker.process)) this.#ended(worker)
      else this.#watchAdopted(worker)
    })
  }

  #ended(worker: RegisteredWorker): void {
    if (!this.#isRunning || this.#current !== worker) return
    this.#current = undefined
    this.#options.log.error(
      { worker: worker.instance, workerPid: worker.process.pid },
      'worker ended',
    )
    this.#launchLater()
  }

  #launchLater(): void {
    const { clock, log } = this.#options
    const now = clock.now()
    this.#starts = this.#starts.filter((at) => now - at < minute)
    const [oldest = now] = this.#starts
    const isTooOften = this.#starts.length >= startsPerMinute
    if (isTooOften) log.error({ code: 'worker_down' }, 'the worker ends again and again; pausing')
    const delay = isTooOften
      ? oldest + minute - now
      : Math.min(50 * 2 ** this.#starts.length, lastDelayMs)
    this.#cancelTimer = clock.after(delay, () => {
      this.#launch().catch((thrown: unknown) => {
        const { code, cause } = toSallyportError(thrown)
        log.error({ code, cause: String(cause) }, 'worker not started')
        if (this.#isRunning) this.#launchLater()
      })
    })
  }
}

function commandOf(options: SupervisorOptions, socket: string): string[] {
  const { cert, key, ca } = options.workerFiles
  const ownEntry = fileURLToPath(new URL('../../../worker/src/main.ts', import.meta.url))
  const flags = ['--socket', socket, '--cert', cert, '--key', key, '--ca', ca]
  if (options.allowLocalUpstreams) flags.push('--allow-local-upstreams')
  if (options.reconnectWindowMs !== undefined)
    flags.push('--reconnect-window-ms', String(options.reconnectWindowMs))
  return [options.entry ?? ownEntry, ...flags, '--build', options.build]
}
