/** Where root runs Sallyport, the worker is a user who owns nothing on this machine but the worker's folder. */
import { createHash } from 'node:crypto'
import { chownSync, lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface WorkerUser {
  readonly uid: number
  readonly gid: number
}

/** Numbers that systems leave to users without a name (systemd's range for them). */
const first = 61_184
const count = 4_336

/**
 * The same for a data folder each time, and nobody's who has a name here. Undefined where there is no other user to be: in
 * a user namespace that has root alone.
 */
export function chooseWorkerUser(dataDir: string): WorkerUser | undefined {
  if (!['uid', 'gid'].every((kind) => hasNumbers(`/proc/self/${kind}_map`))) return undefined
  const taken = new Set(['/etc/passwd', '/etc/group'].flatMap(numbersIn))
  const wanted = createHash('sha256').update(dataDir).digest().readUInt32BE() % count
  for (let step = 0; step < count; step++) {
    const id = first + ((wanted + step) % count)
    if (!taken.has(id)) return { uid: id, gid: id }
  }
  throw new Error('every number for a user without a name is taken')
}

function hasNumbers(map: string): boolean {
  try {
    const ranges = readFileSync(map, 'utf8').trim().split('\n')
    return ranges.some((line) => {
      const [from = 0, , size = 0] = line.trim().split(/\s+/).map(Number)
      return from <= first && first + count <= from + size
    })
  } catch {
    // No namespaces: numbers are what they are.
    return true
  }
}

function numbersIn(path: string): number[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n')
    return lines.map((line) => Number(line.split(':')[2] ?? Number.NaN))
  } catch {
    // A system without such a list has no names.
    return []
  }
}

/** A folder and the files in it. What is no plain file of its own, a link say, may lead elsewhere, and is left. */
export function giveFolder(folder: string, { uid, gid }: WorkerUser): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const found = lstatSync(path)
    const isItsOwn = found.nlink === 1 && (found.isFile() || found.isSocket())
    if (isItsOwn && found.uid !== uid) lchownSync(path, uid, gid)
  }
  chownSync(folder, uid, gid)
}
