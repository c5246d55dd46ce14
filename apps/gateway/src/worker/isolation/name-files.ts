/**
 * Copies of the two files by which names are found, in a folder that the worker sees. Systems put new ones in their place
 * when the network changes; one that is mounted alone would stay as it was.
 */
import { copyFileSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'

const names = ['hosts', 'resolv.conf']
const everyMs = 2_000

export class NameFiles {
  readonly folder: string
  readonly #clock: Clock
  readonly #from: string
  readonly #versions = new Map<string, string>()
  #cancel = (): void => {}

  constructor(folder: string, clock: Clock, from = '/etc') {
    this.folder = folder
    this.#clock = clock
    this.#from = from
  }

  /** They are there when this returns, and follow until `stop`. */
  start(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o755 })
    this.#follow()
  }

  stop(): void {
    this.#cancel()
  }

  #follow(): void {
    this.#cancel()
    for (const name of names) this.#copy(name)
    this.#cancel = this.#clock.after(everyMs, () => this.#follow())
  }

  #copy(name: string): void {
    const [from, to] = [join(this.#from, name), join(this.folder, name)]
    try {
      const found = statSync(from, { throwIfNoEntry: false })
      const version = found ? `${found.dev} ${found.ino} ${found.size} ${found.mtimeMs}` : 'none'
      if (this.#versions.get(name) === version) return
      if (found) {
        copyFileSync(from, `${to}.new`)
        renameSync(`${to}.new`, to)
      } else rmSync(to, { force: true })
      this.#versions.set(name, version)
    } catch {
      // Between two states, or not to be read: the next look tries again.
    }
  }
}
