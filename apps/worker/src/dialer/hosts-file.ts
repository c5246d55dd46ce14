/** The names this machine's administrator wrote down by hand, which a resolver of the system reads before it asks. */
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'

/** Some lists of unwanted names are long; beyond this the file is not read. */
const mostBytes = 8 * 1024 * 1024
const place =
  process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

export class HostsFile {
  readonly #path: string
  /** Of the text that was read last. */
  #version = ''
  #names: ReadonlyMap<string, readonly string[]> = new Map()

  constructor(path = place) {
    this.#path = path
  }

  /** Empty for a name that is not there, and when there is no such file. */
  async addressesOf(name: string): Promise<readonly string[]> {
    try {
      const { size, mtimeMs, ino } = await stat(this.#path)
      const version = `${ino}:${size}:${mtimeMs}`
      if (version !== this.#version) {
        this.#names = size > mostBytes ? new Map() : read(await readFile(this.#path, 'utf8'))
        this.#version = version
      }
    } catch {
      // A system may have none; then the name servers alone are asked.
      return []
    }
    return this.#names.get(name) ?? []
  }
}

function read(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...given] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of given) {
      const known = names.get(name.toLowerCase())
      if (known) known.push(address)
      else names.set(name.toLowerCase(), [address])
    }
  }
  return names
}
