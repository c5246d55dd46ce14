/**
 * Keeps one worker process running for a data folder. A worker outlives its gateway, so the first thing is to look for
 * one that is there already; only one that was started in just this way is adopted.
 */
import type { ChildProcess } from 'node:child_process'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SallyportError, toSallyportError } from '@sallyport/protocol'
import type { Hello } from '@sallyport/protocol/node'
import type { SupervisedWorker } from './admin.ts'
import { adoptWorker } from './adopt-worker.ts'
import { type ChannelOptions, openChannel } from './channel.ts'
import type { WorkerAddress } from './dial.ts'
import { endProcess } from './end-process.ts'
import type { IsolationMode } from './isolation/isolation-mode.ts'
import type { Launch } from './isolation/launch.ts'
import { WorkerWall } from './isolation/worker-wall.ts'
import type { Log } from './log.ts'
import { identifyProcess, isProvedGone } from './process-identity.ts'
import { SocketPlace } from './socket-place.ts'
import { SilentEnd, type SpawnedWorker, spawnWorker } from './spawn-worker.ts'
import { type VaultKeyPlace, vaultKeyFlags, vaultKeyStdio } from './vault-key-place.ts'
import type { WorkerKeeper } from './worker-keeper.ts'
import { type RegisteredWorker, WorkerRegister } from './worker-register.ts'

export interface SupervisorOptions extends Omit<ChannelOptions, 'address'> {
  /** The caller holds it: no other gateway supervises a worker there. */
  readonly dataDir: string
  /** What the worker shows and whom it trusts. */
  readonly workerFiles: { readonly cert: string; readonly key: string; readonly ca: string }
  readonly build: string
  readonly allowLocalUpstreams: boolean
  /** Flags about where it may go, handed on as they are. */
  readonly egress?: readonly string[]
  /** `vault.key` in the worker's folder by default; all workers of a deployment share one. */
  readonly vaultKey?: VaultKeyPlace
  /** How much stands around the worker. */
  readonly isolation: IsolationMode
  /** Files that it must not see, wherever they are. */
  readonly hidden?: readonly string[]
  /** Files that it reads beside its own: authorities of upstreams. */
  readonly readable?: readonly string[]
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

const ownEntry = fileURLToPath(new URL('../../../worker/src/main.ts', import.meta.url))

export class WorkerSupervisor implements WorkerKeeper {
  readonly address: WorkerAddress
  readonly #options: SupervisorOptions
  readonly #folder: string
  readonly #place: SocketPlace
  /** What a worker is started with, and must have been started with to be adopted. */
  readonly #command: readonly string[]
  readonly #vaultKey: VaultKeyPlace
  readonly #register: WorkerRegister
  readonly #wall: WorkerWall
  #current: RegisteredWorker | undefined
  #starts: number[] = []
  #isRunning = false
  #launching: Promise<void> = Promise.resolve()
  #cancelTimer = (): void => {}

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#place = new SocketPlace(options.dataDir)
    this.address = { path: this.#place.path }
    this.#folder = resolve(options.dataDir, 'worker')
    this.#vaultKey = options.vaultKey ?? { file: join(this.#folder, 'vault.key') }
    this.#command = commandOf(options, this.#place.path, this.#vaultKey)
    this.#register = new WorkerRegister(this.#own('workers.json'))
    this.#wall = new WorkerWall({
      mode: options.isolation,
      needs: {
        entry: options.entry ?? ownEntry,
        dataDir: resolve(options.dataDir),
        folder: this.#folder,
        socketFolder: dirname(this.#place.path),
        vaultKey: this.#vaultKey,
        readable: options.readable ?? [],
        hidden: options.hidden ?? [],
      },
      namesFolder: this.#own('names'),
      clock: options.clock,
    })
  }

  /** Resolves when a worker listens. Rejects with `worker_down` or `data_not_writable`; then none is left. */
  async start(): Promise<void> {
    this.#isRunning = true
    const { clock, log } = this.#options
    this.#current = await adoptWorker({
      hello: await this.#askHello().catch(() => undefined),
      register: this.#register,
      command: this.#registered(),
      accept: (hello) => this.#wall.accept(hello),
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
    this.#wall.stop()
    await this.#launching
    if (this.#current) await endProcess(this.#current.process)
    this.#current = undefined
    this.#place.remove()
  }

  /** The worker that runs now. */
  state(): SupervisedWorker | null {
    if (!this.#current) return null
    const { instance, process } = this.#current
    return { instance, pid: process.pid, unisolatedBecause: this.#wall.because }
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
    const { child, pid, instance } = await this.#spawnWithin()
    const identity = identifyProcess(pid)
    try {
      const hello = await this.#askHello()
      if (!identity || hello.instance !== instance) throw new SallyportError('worker_down')
      this.#wall.accept(hello)
      const worker = { instance, process: identity, command: this.#registered() }
      this.#register.record(worker)
      this.#current = worker
      log.info({ worker: instance, workerPid: pid }, 'worker started')
      this.#watchChild(worker, child)
    } catch (thrown) {
      if (identity) await endProcess(identity)
      throw thrown
    }
  }

  /** Inside of what this machine has; with less of it where that turns out to keep the worker from starting. */
  async #spawnWithin(): Promise<SpawnedWorker> {
    this.#place.prepare(this.#wall.owner)
    const launch = this.#wall.prepare()
    try {
      return await this.#spawnBy(launch)
    } catch (thrown) {
      if (!(thrown instanceof SilentEnd && (await this.#wall.isToBlame(launch)))) throw thrown
      this.#options.log.warn({ because: this.#wall.because }, 'the worker is less isolated')
      return await this.#spawnBy(this.#wall.prepare())
    }
  }

  #spawnBy(launch: Launch): Promise<SpawnedWorker> {
    return spawnWorker({
      launch,
      command: this.#command,
      inherited: vaultKeyStdio(this.#vaultKey),
      folder: this.#folder,
      logFile: this.#own('worker.log'),
      began: (pid) => {
        const started = identifyProcess(pid)
        if (started) this.#register.recordStart(started)
      },
      clock: this.#options.clock,
    })
  }

  /** Files about the worker that are not for it to touch. */
  #own(name: string): string {
    return resolve(this.#options.dataDir, 'gateway', name)
  }

  #registered(): readonly string[] {
    return [`isolation ${this.#wall.mode}`, ...this.#command]
  }

  #watchChild(worker: RegisteredWorker, child: ChildProcess): void {
    const { exitCode, signalCode } = child
    // What stands around a worker may be killed alone: two at once would hold two memories of results.
    const ended = () => void endProcess(worker.process).then(() => this.#ended(worker))
    if (exitCode !== null || signalCode !== null) ended()
    else child.once('exit', ended)
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

function commandOf(
  options: SupervisorOptions,
  socket: string,
  vaultKey: VaultKeyPlace,
): readonly string[] {
  const { cert, key, ca } = options.workerFiles
  const pki = ['--cert', cert, '--key', key, '--ca', ca]
  const flags = ['--socket', socket, ...pki, ...vaultKeyFlags(vaultKey)]
  if (options.allowLocalUpstreams) flags.push('--allow-local-upstreams')
  if (options.reconnectWindowMs !== undefined)
    flags.push('--reconnect-window-ms', String(options.reconnectWindowMs))
  flags.push(...(options.egress ?? []))
  return [options.entry ?? ownEntry, ...flags, '--build', options.build]
}
