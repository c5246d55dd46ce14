/** One test's guests: a workspace and a data folder of its own, everything ended and removed afterwards. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Guest, GuestEnd, GuestFile, GuestSpec, Sandbox } from '../sandbox.ts'

export class Trial {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-sandbox-')))
  readonly workspace = join(this.root, 'workspace')
  readonly dataFolder = join(this.root, 'data')
  readonly #guests: Guest[] = []

  constructor() {
    mkdirSync(this.workspace)
    mkdirSync(this.dataFolder)
  }

  spec(script: string, more: Partial<GuestSpec> = {}): GuestSpec {
    const { workspace, dataFolder } = this
    return {
      command: ['/bin/sh', '-c', script],
      environment: {},
      workspace,
      dataFolder,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...more,
    }
  }

  /** Made, and held. */
  async held(
    sandbox: Sandbox,
    script: string,
    more: Partial<GuestSpec> = {},
    files: readonly GuestFile[] = [],
  ): Promise<Guest> {
    const guest = await sandbox.create(sandbox.plan(this.spec(script, more)), files)
    this.#guests.push(guest)
    return guest
  }

  /** Made, verified, released. */
  async running(
    sandbox: Sandbox,
    script: string,
    more: Partial<GuestSpec> = {},
    files: readonly GuestFile[] = [],
  ): Promise<Guest> {
    const guest = await this.held(sandbox, script, more, files)
    const { mismatches } = await guest.verify()
    if (mismatches.length > 0) throw new Error(JSON.stringify(mismatches))
    guest.release()
    return guest
  }

  /** To its end. */
  async run(
    sandbox: Sandbox,
    script: string,
    more: Partial<GuestSpec> = {},
    files: readonly GuestFile[] = [],
  ): Promise<GuestEnd & { readonly stdout: string; readonly stderr: string }> {
    const guest = await this.running(sandbox, script, more, files)
    const [stdout, stderr, end] = await Promise.all([
      guest.stdout ? text(guest.stdout) : '',
      guest.stderr ? text(guest.stderr) : '',
      guest.ended,
    ])
    return { ...end, stdout, stderr }
  }

  /** The guest's scripts make files in the workspace; were they run? */
  has(name: string): boolean {
    return existsSync(join(this.workspace, name))
  }

  async end(): Promise<void> {
    for (const guest of this.#guests) {
      const destroyed = await guest.destroy()
      if (destroyed.state !== 'gone') throw new Error(destroyed.reason)
    }
    rmSync(this.root, { recursive: true })
  }
}
