/** Starts whole Sallyports for tests: gateway, worker and database in a folder of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bundledProgram } from './bundled-programs.ts'
import { apiAt, type CallApi } from './call-api.ts'
import { killAndProveGone, processesWith } from './processes.ts'

export interface StartOptions {
  /** A folder to go on with; a new one, removed at the end, when not given. */
  readonly dataDir?: string
  /** Beside those every test needs. */
  readonly args?: readonly string[]
  /** Beside PATH. */
  readonly env?: Readonly<Record<string, string>>
  /** Default true. */
  readonly localUpstreams?: boolean
  /** Entry file of the gateway. When not given: as it ships, or its source where nothing was bundled. */
  readonly program?: string
  /** A module that the gateway loads before its own. */
  readonly preload?: string
}

export interface Sallyport {
  /** Of the control listener. Changes with `restart`, as the next three do. */
  readonly url: string
  readonly guestUrl: string
  readonly pid: number
  readonly adminToken: string
  readonly dataDir: string
  /** As the administrator. */
  readonly api: CallApi
  /** The newest worker that was started, running or not. */
  workerPid(): number | undefined
  /** Everything the gateway wrote to stdout and stderr, since the first start. */
  output(): string
  /** SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL of the gateway alone. */
  kill(): Promise<void>
  /** Stops it when it runs, and starts it again on the same folder. */
  restart(options?: Pick<StartOptions, 'args' | 'env'>): Promise<void>
  /** Starts it again after it was killed, and kills it once more after so many milliseconds, ready or not. */
  killStarting(afterMs: number): Promise<void>
  /** Every process of this folder that runs, gateways and workers, known or stray. */
  processes(): number[]
  /** Ends every process of the folder whatever it does, proves them gone, removes the folder. */
  remove(): Promise<void>
}

interface Ready {
  readonly url: string
  readonly guestUrl: string
  readonly adminTokenFile: string
  readonly pid: number
}

/** As the launcher has them. */
const memoryFlags = ['--max-semi-space-size=16']
const readyWithinMs = 30_000
const stopWithinMs = 30_000
/** The source of the gateway, whose worker is a source too. */
export const gatewaySource = fileURLToPath(
  new URL('../../apps/gateway/src/main.ts', import.meta.url),
)

export async function startSallyport(options: StartOptions = {}): Promise<Sallyport> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'sallyport-test-'))
  const sallyport = new RunningSallyport(dataDir, options)
  try {
    await sallyport.start(options)
  } catch (thrown) {
    // A folder that was given may be in use by another, whose processes are not ours to end.
    await (options.dataDir === undefined ? sallyport.remove() : sallyport.endChild())
    throw thrown
  }
  return sallyport
}

class RunningSallyport implements Sallyport {
  readonly dataDir: string
  readonly api: CallApi
  readonly #options: StartOptions
  #output = ''
  #child: ChildProcess | undefined
  #ready: Ready | undefined

  constructor(dataDir: string, options: StartOptions) {
    this.dataDir = dataDir
    this.#options = options
    this.api = apiAt(
      () => this.url,
      () => this.adminToken,
    )
  }

  get url(): string {
    return this.#started().url
  }

  get guestUrl(): string {
    return this.#started().guestUrl
  }

  get pid(): number {
    return this.#started().pid
  }

  get adminToken(): string {
    return readFileSync(this.#started().adminTokenFile, 'utf8').trim()
  }

  async start(options: Pick<StartOptions, 'args' | 'env'>): Promise<void> {
    this.#ready = await this.#untilReady(this.#spawn(options))
  }

  #spawn({ args = [], env = {} }: Pick<StartOptions, 'args' | 'env'>): ChildProcess {
    const local = this.#options.localUpstreams === false ? [] : ['--allow-local-upstreams']
    const fixed = ['--json', '--data', this.dataDir, '--port', '0', '--guest-port', '0', ...local]
    const { program = bundledProgram('gateway') ?? gatewaySource, preload } = this.#options
    const first = [...memoryFlags, ...(preload === undefined ? [] : ['--import', preload])]
    const child = spawn(process.execPath, [...first, program, 'up', ...fixed, ...args], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#output += text
    })
    return child
  }

  workerPid(): number | undefined {
    return this.#workerPids().at(-1)
  }

  output(): string {
    return this.#output
  }

  async stop(): Promise<number | null> {
    const child = this.#child
    if (!child || hasEnded(child)) return child?.exitCode ?? null
    child.kill('SIGTERM')
    await Promise.race([once(child, 'exit'), sleep(stopWithinMs, undefined, { ref: false })])
    if (!hasEnded(child)) throw new Error(`SIGTERM does not end it\n${this.#output}`)
    return child.exitCode
  }

  async kill(): Promise<void> {
    const { pid } = this
    await killAndProveGone(pid)
    if (this.#child && !hasEnded(this.#child)) await once(this.#child, 'exit')
  }

  async restart(options: Pick<StartOptions, 'args' | 'env'> = this.#options): Promise<void> {
    await this.stop()
    await this.start({ ...this.#options, ...options })
  }

  async killStarting(afterMs: number): Promise<void> {
    const child = this.#spawn(this.#options)
    child.stdout?.resume()
    await sleep(afterMs)
    if (child.pid !== undefined) await killAndProveGone(child.pid)
    if (!hasEnded(child)) await once(child, 'exit')
  }

  processes(): number[] {
    return processesWith(this.dataDir)
  }

  async endChild(): Promise<void> {
    const child = this.#child
    if (child?.pid !== undefined && !hasEnded(child)) await killAndProveGone(child.pid)
  }

  async remove(): Promise<void> {
    await this.endChild()
    // The folder's name is in the arguments of everything that was started for it.
    for (const pid of this.processes()) await killAndProveGone(pid)
    if (this.#options.dataDir === undefined)
      rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 3 })
  }

  #started(): Ready {
    if (!this.#ready) throw new Error('not started')
    return this.#ready
  }

  async #untilReady(child: ChildProcess): Promise<Ready> {
    const stdout = child.stdout as NonNullable<ChildProcess['stdout']>
    const ready = new Promise<Ready>((resolve, reject) => {
      createInterface({ input: stdout }).on('line', (line) => {
        this.#output += `${line}\n`
        const event = eventOf(line)
        if (event?.event === 'ready') resolve(event)
      })
      const fail = (why: string) => reject(new Error(`${why} before it was ready\n${this.#output}`))
      // `close` comes after the last line, `exit` may come before it.
      child.once('close', (code, signal) => fail(`ended with ${signal ?? code}`))
      sleep(readyWithinMs, undefined, { ref: false }).then(() => fail('took too long'), reject)
    })
    return await ready
  }

  #workerPids(): number[] {
    try {
      const path = join(this.dataDir, 'gateway', 'workers.json')
      const workers: { instance: string; process: { pid: number } }[] = JSON.parse(
        readFileSync(path, 'utf8'),
      )
      const known = workers.filter(({ instance }) => instance !== 'starting')
      return known.map(({ process }) => process.pid)
    } catch {
      return []
    }
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null

function eventOf(line: string): (Ready & { event?: string }) | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
