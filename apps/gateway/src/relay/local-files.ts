/**
 * A relay folder of this machine. It is opened once and reached through its descriptor, so that another folder under its name
 * is not mistaken for it, and no name in it leads out of it.
 */

import { randomBytes } from 'node:crypto'
import { constants, type Dirent, watch } from 'node:fs'
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises'
import { join } from 'node:path'
import { gatewayFile } from '@sallyport/protocol/shim'
import { type RelayFiles, RelayGone } from './relay-files.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY, O_WRONLY, O_CREAT, O_EXCL } = constants
/** Everything of a relay that a sweep may remove. */
const ofRelay = /^(?:[0-9a-f]{32}\.(?:req|res|cancel|\d+\.part)\.json|\.[0-9a-f]{32}\.tmp)$/

export class LocalFiles implements RelayFiles {
  readonly watch: RelayFiles['watch']
  readonly #path: string
  readonly #folder: FileHandle
  /** The folder itself, whatever its name leads to now. */
  readonly #at: string
  readonly #identity: string

  private constructor(path: string, folder: FileHandle, identity: string) {
    this.#path = path
    this.#folder = folder
    this.#identity = identity
    this.#at = process.platform === 'linux' ? `/proc/self/fd/${folder.fd}` : path
    this.watch = (onChange, onFailure) => {
      const watcher = watch(this.#at, onChange).on('error', onFailure)
      return () => watcher.close()
    }
  }

  /** Makes the folder, which must be new. */
  static async create(path: string): Promise<LocalFiles> {
    await mkdir(path, { mode: 0o700 })
    return LocalFiles.open(path)
  }

  /** One that was made before, by an earlier gateway. */
  static async open(path: string): Promise<LocalFiles> {
    const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    const { dev, ino } = await folder.stat({ bigint: true })
    return new LocalFiles(path, folder, `${dev} ${ino}`)
  }

  async list(limit: number): Promise<readonly string[]> {
    await this.#checkSame()
    const names: string[] = []
    const folder = await opendir(this.#at, { bufferSize: 256 })
    for await (const { name } of folder as AsyncIterable<Dirent>) {
      names.push(name)
      if (names.length >= limit) break
    }
    return names
  }

  async read(name: string, limit: number): ReturnType<RelayFiles['read']> {
    let file: FileHandle
    try {
      // Not blocking: a pipe without a writer would hold a thread.
      file = await open(join(this.#at, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch (error) {
      return isCode(error, 'ENOENT') ? 'gone' : 'not_a_file'
    }
    try {
      const stat = await file.stat()
      // A second name may be of a file that is not the guest's to show.
      if (!stat.isFile() || stat.nlink > 1) return 'not_a_file'
      if (stat.size > limit) return 'too_large'
      const bytes = Buffer.alloc(stat.size + 1)
      let size = 0
      for (let read = 1; read > 0; size += read)
        read = (await file.read(bytes, size, bytes.length - size)).bytesRead
      // One that grows was not written as a record is.
      return size > stat.size ? 'too_large' : bytes.subarray(0, size)
    } finally {
      await file.close()
    }
  }

  async publish(name: string, bytes: Buffer): Promise<void> {
    const temporary = join(this.#at, `.${randomBytes(16).toString('hex')}.tmp`)
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      await file.writeFile(bytes)
      await file.close()
      await rename(temporary, join(this.#at, name))
    } catch (error) {
      await file.close().catch(() => {})
      await unlink(temporary).catch(() => {})
      throw error
    }
  }

  async remove(name: string): Promise<boolean> {
    try {
      await unlink(join(this.#at, name))
      return true
    } catch (error) {
      return isCode(error, 'ENOENT')
    }
  }

  async close(how?: 'end'): Promise<void> {
    if (how === 'end') await this.#clear()
    await this.#folder.close()
  }

  async #clear(): Promise<void> {
    try {
      for (const name of await this.list(100_000))
        if (ofRelay.test(name) || name === gatewayFile) await this.remove(name)
      await rmdir(this.#path)
    } catch {
      // Other files, or another folder: neither is ours to remove.
    }
  }

  async #checkSame(): Promise<void> {
    try {
      const { dev, ino } = await lstat(this.#path, { bigint: true })
      if (`${dev} ${ino}` === this.#identity) return
    } catch (cause) {
      throw new RelayGone('the folder is gone', { cause })
    }
    throw new RelayGone('another folder has its name')
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code
}
