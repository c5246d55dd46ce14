/** Where a socket or a folder for a guest may be made: at a new name that nobody else can put something of their own under. */
import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { SallyportError } from '@sallyport/protocol'

/** Of the socket address. */
const longest = 100

/** Gives the path with no link in it. Throws `bad_guest_path`, with the field's name. */
export async function checkGuestPlace(
  field: 'socket' | 'relay',
  path: string,
  dataDir: string,
): Promise<string> {
  const refuse = (cause?: unknown): SallyportError =>
    new SallyportError('bad_guest_path', { field, cause })
  if (!isAbsolute(path) || path.includes('\0')) throw refuse()
  try {
    const folder = await realpath(dirname(path))
    const real = join(folder, basename(path))
    const { uid, mode } = await stat(folder)
    const isOurs = uid === process.getuid?.() && (mode & 0o022) === 0
    if (!isOurs || real.length > longest || isWithin(real, await realpath(dataDir))) throw refuse()
    if (!(await isNew(real))) throw refuse()
    return real
  } catch (thrown) {
    throw thrown instanceof SallyportError ? thrown : refuse(thrown)
  }
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way.startsWith('..') || isAbsolute(way))
}

async function isNew(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return false
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true
    throw error
  }
}
