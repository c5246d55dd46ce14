/** What of this machine a worker needs, and nothing else. Paths are absolute. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { VaultKeyPlace } from '../vault-key-place.ts'

export interface WorkerNeeds {
  /** The file it begins in. */
  readonly entry: string
  readonly dataDir: string
  /** Its own, where it writes; inside the data folder. */
  readonly folder: string
  /** Where its socket is made: mostly the same. */
  readonly socketFolder: string
  readonly vaultKey: VaultKeyPlace
  /** Beside the program: authorities of upstreams. */
  readonly readable: readonly string[]
  /** Never to be seen, wherever they are. */
  readonly hidden: readonly string[]
}

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)

export interface OutsideKey {
  readonly file: string
  readonly folder: string
  /** Nothing else is in it: then it may be written, and keys rotated. */
  readonly isAlone: boolean
  /** Files of keys that are there. */
  readonly present: readonly string[]
}

/** A key file that is not in the worker's own folder. */
export function outsideKey({ vaultKey, folder }: WorkerNeeds): OutsideKey | undefined {
  if (!('file' in vaultKey) || isWithin(resolve(vaultKey.file), folder)) return undefined
  const file = resolve(vaultKey.file)
  const [keys, name] = [dirname(file), basename(file)]
  if (!existsSync(keys)) return undefined
  const entries = readdirSync(keys)
  const own = entries.filter((entry) => entry === name || entry.startsWith(`${name}.`))
  return {
    file,
    folder: keys,
    isAlone: own.length === entries.length,
    present: own.map((entry) => join(keys, entry)),
  }
}

/** Its key comes from a program, which may be any, and may need whatever is on the machine. */
export const runsProgram = ({ vaultKey }: WorkerNeeds): boolean => 'command' in vaultKey

/** False when another user than the one who runs this could not read it. */
export function isForEverybody(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && (found.mode & 0o004) !== 0
}
