/** Looks for secrets wherever somebody else could find them, and says where it looked. Linux; as the user of all of it, or as root. */
import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isAlive } from '../harness/processes.ts'
import { formsOf } from '../system/evidence.ts'
import { searchMemory } from './memory-search.ts'

export const leakPlaces = [
  'API answer',
  'argument',
  'database row',
  'descriptor',
  'environment',
  'file',
  'file mode',
  'guest argument',
  'guest descriptor',
  'guest environment',
  'guest file',
  'guest memory',
  'log',
  'model transcript',
  'output',
] as const
/** Of every run, or of a launcher that is a process of its own. */
export type LeakPlace = (typeof leakPlaces)[number] | 'launcher memory'

export interface Leak {
  readonly place: LeakPlace
  /** Its name, never itself. */
  readonly secret: string
  readonly holder: string
}

/** Of one file; nothing a secret of ours is in is longer. */
const mostBytes = 16 * 1024 * 1024

export class LeakScan {
  readonly #needles: Readonly<Record<string, readonly Buffer[]>>
  readonly #leaks: Leak[] = []
  readonly #looked = new Map<LeakPlace, number>()

  /** `secrets`: name → value. */
  constructor(secrets: Readonly<Record<string, string>>) {
    this.#needles = Object.fromEntries(
      Object.entries(secrets).map(([name, value]) => {
        if (value.length < 16) throw new Error(`${name} is too short to be told from others`)
        const forms = [...new Set(formsOf(value))].map((form) => Buffer.from(form))
        return [name, [...forms, Buffer.from(value, 'utf16le')]]
      }),
    )
  }

  leaks(): readonly Leak[] {
    return this.#leaks
  }

  /** How often something was looked at there. */
  looked(place: LeakPlace): number {
    return this.#looked.get(place) ?? 0
  }

  look(place: LeakPlace, holder: string, content: string | Buffer): void {
    this.#note(place, holder, this.#secretsIn(content))
  }

  /** Arguments, environment and descriptors. Nothing of one that has ended meanwhile. */
  lookAtProcess(pid: number, side: '' | 'guest '): void {
    const holder = contentOfProc(pid, 'comm').toString().trim()
    this.look(`${side}argument`, holder, contentOfProc(pid, 'cmdline'))
    this.look(`${side}environment`, holder, contentOfProc(pid, 'environ'))
    for (const fd of descriptorsOf(pid)) {
      const path = `/proc/${pid}/fd/${fd}`
      const target = linkOf(path)
      this.look(`${side}descriptor`, `${holder} ${target}`, target)
      // Also one whose name is gone.
      if (target.startsWith('/'))
        this.look(`${side}descriptor`, `${holder} ${target}`, contentOf(path))
    }
  }

  /** Throws for one that runs and cannot be looked at. */
  async lookAtGuest(pid: number): Promise<void> {
    this.lookAtProcess(pid, 'guest ')
    await this.#lookAtMemory(pid, 'guest memory')
  }

  /** As `lookAtGuest`, of what started it. */
  async lookAtLauncher(pid: number): Promise<void> {
    this.lookAtProcess(pid, '')
    await this.#lookAtMemory(pid, 'launcher memory')
  }

  async #lookAtMemory(pid: number, place: 'guest memory' | 'launcher memory'): Promise<void> {
    const holder = contentOfProc(pid, 'comm').toString().trim()
    this.look(place, `${holder} maps`, contentOfProc(pid, 'maps'))
    const { found, bytes } = await searchMemory(pid, this.#needles)
    if (bytes === 0 && isAlive(pid)) throw new Error(`the memory of ${holder} cannot be read`)
    this.#note(place, holder, found)
  }

  /** Names and contents. `modes`: whether others may read what holds a secret. */
  lookAtFolder(place: 'file' | 'guest file', folder: string, modes = false): void {
    for (const name of readdirSync(folder, { recursive: true }) as string[]) {
      const path = join(folder, name)
      const stats = lstatSync(path, { throwIfNoEntry: false })
      const content = stats?.isFile() ? contentOf(path) : Buffer.alloc(0)
      const found = this.#secretsIn(Buffer.concat([Buffer.from(`${name}\n`), content]))
      this.#note(place, path, found)
      if (modes && stats) this.#note('file mode', path, stats.mode & 0o077 ? found : [])
    }
  }

  /** Every row as text: on a page of the file, a long value may be cut in two. */
  lookAtDatabase(file: string): void {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
      for (const { name } of tables)
        for (const row of database.prepare(`SELECT * FROM "${name}"`).all())
          this.look('database row', String(name), Object.values(row).map(String).join('\n'))
    } finally {
      database.close()
    }
  }

  #secretsIn(content: string | Buffer): string[] {
    const bytes = Buffer.from(content)
    return Object.entries(this.#needles)
      .filter(([, forms]) => forms.some((form) => bytes.includes(form)))
      .map(([name]) => name)
  }

  #note(place: LeakPlace, holder: string, secrets: readonly string[]): void {
    this.#looked.set(place, this.looked(place) + 1)
    for (const secret of secrets) this.#leaks.push({ place, secret, holder })
  }
}

/** Living processes of the pid namespace of that one. */
export function neighboursOf(pid: number): number[] {
  const own = linkOf(`/proc/${pid}/ns/pid`)
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((one) => linkOf(`/proc/${one}/ns/pid`) === own)
}

/** Empty for what is gone. */
function contentOfProc(pid: number, name: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/${name}`)
  } catch (thrown) {
    if (isAlive(pid)) throw thrown
    return Buffer.alloc(0)
  }
}

function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`)
  } catch (thrown) {
    if (isAlive(pid)) throw thrown
    return []
  }
}

/** Empty for what is gone. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** Of a regular file, its beginning; nothing of anything else, and of what is gone. */
function contentOf(path: string): Buffer {
  let descriptor: number | undefined
  try {
    // Through /proc a fifo could be opened too, and waited for.
    if (!isRegular(path)) return Buffer.alloc(0)
    descriptor = openSync(path, 'r')
    const buffer = Buffer.alloc(Math.min(fstatSync(descriptor).size || 65_536, mostBytes))
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, 0))
  } catch {
    return Buffer.alloc(0)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

const isRegular = (path: string): boolean =>
  path.startsWith('/proc/') ? statSync(path).isFile() : lstatSync(path).isFile()
