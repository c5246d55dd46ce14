/** A whole Sallyport, a fake model, and `sallyport run` in folders of its own. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { counterSays } from '../clients/agent-tools.ts'
import type { GovernedRun } from '../clients/governed-run.ts'
import { type CommandOptions, type RunningCommand, startCommand } from '../system/commands.ts'

const runLimitMs = 100_000

export class RunWorld {
  readonly governed: GovernedRun
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-runs-')))
  readonly home = join(this.root, 'home')
  /** What nothing in a sandbox may reach. */
  readonly outside = join(this.root, 'outside')
  readonly runtime = join(this.root, 'r')
  readonly #running = new Set<RunningCommand>()

  protected constructor(governed: GovernedRun) {
    this.governed = governed
    for (const folder of [this.home, this.outside, this.runtime]) mkdirSync(folder)
  }

  folder(name: string): string {
    return mkdtempSync(join(this.root, `${name}-`))
  }

  /** Told to end when it takes too long; what it said then says why. */
  start(words: readonly string[], stdin?: string): RunningCommand {
    const place: CommandOptions = {
      dataDir: this.governed.sallyport.dataDir,
      home: this.home,
      env: { XDG_RUNTIME_DIR: this.runtime },
    }
    const command = startCommand(['run', ...words], {
      ...place,
      ...(stdin === undefined ? {} : { stdin }),
    })
    const late = setTimeout(() => command.kill('SIGTERM'), runLimitMs)
    this.#running.add(command)
    void command.ended.then(() => {
      clearTimeout(late)
      this.#running.delete(command)
    })
    return command
  }

  /** What the counter says now, as the upstream says it. */
  counter(): string {
    return counterSays(this.governed.upstream.state.counter)
  }

  /** What runs have left of their own. */
  leftovers(): string[] {
    return readdirSync(this.runtime)
  }

  async end(): Promise<void> {
    for (const command of this.#running) {
      command.kill('SIGTERM')
      await command.ended
    }
    await this.governed.remove()
    rmSync(this.root, { recursive: true })
  }
}
