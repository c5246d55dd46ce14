/** Starts the upstream as a process that may be killed, and reads what it has done. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isAlive, killAndProveGone } from '../harness/processes.ts'
import { preloadModule } from './gateway-host.ts'
import type { Plans } from './plans.ts'
import type { CrashEnvironment } from './preload/step-book.ts'
import type { Effect, UpstreamPlace } from './upstream-program.ts'

const program = join(import.meta.dirname, 'upstream-program.ts')

export class UpstreamProcess {
  readonly plans: Plans
  readonly #effectsFile: string
  #child: ChildProcess | undefined
  #place: UpstreamPlace | undefined

  constructor(plans: Plans) {
    this.plans = plans
    this.#effectsFile = join(plans.folder, 'effects.jsonl')
  }

  /** On the port it had before. */
  async start(): Promise<void> {
    const { PATH = '' } = process.env
    const environment: CrashEnvironment = { role: 'upstream', folder: this.plans.folder }
    const port = this.#place ? new URL(this.url).port : '0'
    const child = spawn(
      process.execPath,
      ['--import', preloadModule, program, this.#effectsFile, port],
      {
        env: { PATH, SALLYPORT_CRASH: JSON.stringify(environment) },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    )
    this.#child = child
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), 'line'),
      once(child, 'exit').then(() => [undefined]),
    ])
    if (line === undefined) throw new Error('the upstream ended while it started')
    this.#place = JSON.parse(line) as UpstreamPlace
  }

  get url(): string {
    if (!this.#place) throw new Error('not started')
    return this.#place.url
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get isAlive(): boolean {
    return isAlive(this.pid)
  }

  /** In the order in which they happened. */
  effects(): Effect[] {
    if (!existsSync(this.#effectsFile)) return []
    const lines = readFileSync(this.#effectsFile, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Effect)
  }

  /** Lets a call that was sent with `hold` be answered. */
  async release(id: string): Promise<void> {
    await fetch(new URL(`?id=${encodeURIComponent(id)}`, this.#place?.control))
  }

  /**
   * Resolves when it has read what had been written to it before: an answer to a question that came later. At once when it
   * does not run.
   */
  async quiet(): Promise<void> {
    for (let round = 0; round < 3 && this.isAlive; round++)
      await fetch(this.#place?.control ?? '').then(
        (answer) => answer.text(),
        () => {},
      )
  }

  /** How many it has accepted since it was started. */
  async connections(): Promise<number> {
    const answer = await fetch(this.#place?.control ?? '')
    return Number(await answer.text())
  }

  async kill(): Promise<void> {
    await killAndProveGone(this.pid)
  }
}
