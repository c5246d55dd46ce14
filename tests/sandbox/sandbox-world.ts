/** A whole Sallyport with a counted upstream, and runs of guests in sandboxes through its API. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  type Guest,
  genericHarness,
  type RunEnd,
  type RunEvent,
  type RunRequest,
  runGuest,
  type Sandbox,
} from '@sallyport/launcher'
import type { Answer } from '@sallyport/protocol'
import { connectUpstream, grantTools, publishTools } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type CountedUpstream, startCountedUpstream } from '../system/counted-upstream.ts'
import { portOf } from './api-port.ts'
import { shim } from './shim-place.ts'

export class SandboxWorld {
  readonly sallyport: Sallyport
  readonly counted: CountedUpstream
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-world-')))
  readonly runtime = join(this.root, 'r')

  static async start(): Promise<SandboxWorld> {
    const [sallyport, counted] = await Promise.all([startSallyport(), startCountedUpstream()])
    const world = new SandboxWorld(sallyport, counted)
    await world.#setUp()
    return world
  }

  private constructor(sallyport: Sallyport, counted: CountedUpstream) {
    this.sallyport = sallyport
    this.counted = counted
    mkdirSync(this.runtime)
  }

  async #setUp(): Promise<void> {
    const upstream = { name: 'counter', url: this.counted.url, read: ['look'], write: ['store'] }
    await connectUpstream(this.sallyport, upstream)
    await publishTools(this.sallyport, upstream)
    const settings = { isolation: ['bubblewrap', 'none', 'external'] } as const
    const profile = { profile: 'p', settings: { isolation: [...settings.isolation] } }
    await grantTools(this.sallyport, { ...upstream, ...profile, unattended: true })
  }

  workspace(): string {
    return mkdtempSync(join(this.root, 'workspace-'))
  }

  async request(sandbox: Sandbox, command: readonly string[]): Promise<RunRequest> {
    const { isolation } = sandbox
    const workspace = this.workspace()
    const asked = { words: command, isolation, environment: {}, shim, workspace }
    return {
      sandbox,
      port: portOf(this.sallyport.api),
      session: { profile: 'p' },
      prepared: await genericHarness.prepare(asked),
      shim,
      workspace,
      dataFolder: this.sallyport.dataDir,
      stdio: ['ignore', 'pipe', 'inherit'],
      runtimeFolder: this.runtime,
      stop: new AbortController().signal,
    }
  }

  session(id: string): Promise<Answer<'session.show'>> {
    return this.sallyport.api('session.show', { id })
  }

  /** What runs have left of their own. */
  leftovers(): string[] {
    return readdirSync(this.runtime)
  }

  async end(): Promise<void> {
    await this.sallyport.stop()
    await this.sallyport.remove()
    await this.counted.close()
    rmSync(this.root, { recursive: true })
  }
}

export interface Ran {
  readonly end: RunEnd
  readonly output: string
}

/** To its end. `at` is told of each step before the next is taken. */
export async function run(
  request: RunRequest,
  at: (event: RunEvent) => void = () => {},
): Promise<Ran> {
  let output = Promise.resolve('')
  const told = (event: RunEvent): void => {
    if (event.kind === 'released') output = outputOf(event.guest)
    at(event)
  }
  const end = await runGuest({ ...request, told })
  return { end, output: await output }
}

const outputOf = async ({ stdout }: Guest): Promise<string> => (stdout ? text(stdout) : '')
