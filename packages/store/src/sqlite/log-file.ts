import { close, fdatasync, fstat, fsync, open } from 'node:fs'
import { stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { SallyportError } from '@sallyport/protocol'

export interface LogFile {
  /** Resolves when what was written to the file so far is on the disk. */
  flush(): Promise<void>
  close(): Promise<void>
}

const openFile = promisify(open)
const closeFile = promisify(close)
const flushFile = promisify(fsync)
const flushData = promisify(fdatasync)
const statFile = promisify(fstat)

/**
 * Opens the log of a database that has committed something and keeps a connection open: for so long the file stays the
 * same one. Throws `not_durable` when it is empty, cannot be flushed, or is not the file behind its name. (Closing the
 * descriptor drops every POSIX lock this process has on the file; SQLite has none on its log.)
 */
export async function openLogFile(path: string): Promise<LogFile> {
  try {
    const fd = await openFile(path, 'r+')
    await flushData(fd)
    const opened = await statFile(fd, { bigint: true })
    const named = await stat(path, { bigint: true })
    if (opened.size === 0n || opened.ino !== named.ino)
      throw new Error('not the log of this database')
    return { flush: () => flushData(fd), close: () => closeFile(fd) }
  } catch (cause) {
    throw new SallyportError('not_durable', { cause })
  }
}

/** Makes the names of new files in it survive a power cut. Throws `not_durable`. */
export async function flushFolder(path: string): Promise<void> {
  // Windows opens no folders; NTFS journals names by itself.
  if (process.platform === 'win32') return
  try {
    const fd = await openFile(path, 'r')
    await flushFile(fd).finally(() => closeFile(fd))
  } catch (cause) {
    throw new SallyportError('not_durable', { cause })
  }
}
