import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import { removeFolder } from '@sallyport/protocol/node'

/** The kernel takes 108 bytes with the closing zero, some systems 104. */
const pathLimit = 100

/**
 * Where the worker of a data folder listens: inside the folder, or, where that path is too long for a socket, in a
 * folder of our own below the system's temporary one.
 */
export class SocketPlace {
  readonly path: string
  readonly #ownFolder: string | undefined

  constructor(dataDir: string) {
    const inside = join(resolve(dataDir), 'worker', 'worker.sock')
    const name = createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16)
    const outside = join(tmpdir(), `sallyport-${process.getuid?.()}-${name}`, 'w.sock')
    const isShort = Buffer.byteLength(inside) <= pathLimit
    this.path = isShort ? inside : outside
    this.#ownFolder = isShort ? undefined : dirname(outside)
  }

  /**
   * Makes room for a listener. Throws `data_not_writable` when others could reach into the folder; `owner`, the user whom
   * the worker runs as, may have it.
   */
  prepare(owner: number | undefined): void {
    if (this.#ownFolder !== undefined) makePrivate(this.#ownFolder, owner)
    rmSync(this.path, { force: true })
  }

  remove(): void {
    if (this.#ownFolder === undefined) rmSync(this.path, { force: true })
    else removeFolder(this.#ownFolder)
  }
}

/** Whoever may write there could put a socket of theirs, or a link, in place of ours. */
function makePrivate(folder: string, owner: number | undefined): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new SallyportError('data_not_writable', { cause })
  }
  const found = lstatSync(folder)
  const isMine = found.uid === process.getuid?.() || found.uid === owner
  if (found.isDirectory() && isMine && (found.mode & 0o077) === 0) return
  const cause = new Error(`not a folder of this user alone: ${folder}`)
  throw new SallyportError('data_not_writable', { cause })
}
