/**
 * Keys in files beside each other: `vault.key`, and after a rotation `vault.key.2`, `vault.key.3`, the highest number
 * the newest. Several workers may share them. Nothing is read, changed and written back, so nothing is lost without a lock:
 * a new key is a new name, which only one can make; what goes is removed; the first key is appended, and the first one
 * wins. A lock only keeps those that begin together from making several.
 */
import { randomBytes } from 'node:crypto'
import { linkSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { SallyportError, toSallyportError } from '@sallyport/protocol'
import { withFirstKeyLock } from './first-key-lock.ts'
import type { KeySource } from './key-source.ts'
import {
  type FoundKeys,
  type HeldVaultKey,
  makeKey,
  readKeyText,
  retiredText,
  unusable,
  writeKeyText,
} from './key-text.ts'

interface KeyFile {
  readonly path: string
  readonly number: number
  readonly keys: readonly HeldVaultKey[]
}

/** Others may be at work in the folder; what changes while it is read is read again. */
const attempts = 20

export class FileSource implements KeySource {
  readonly kind = 'file'
  readonly restMs = 0
  readonly #path: string
  readonly #now: () => number

  constructor(path: string, now: () => number) {
    this.#path = path
    this.#now = now
  }

  async read(): Promise<FoundKeys> {
    await this.#finishRemovals()
    const found = this.#found()
    if (found.keys.length > 0) return found
    await withFirstKeyLock(
      `${this.#path}.lock`,
      () => this.#found().keys.length > 0,
      () => this.#makeFirst(),
    )
    // Of workers that began together, all go on with the key that came first.
    const made = this.#found()
    if (made.keys.length === 0) throw unusable(`what was written is not in ${this.#path}`)
    return made
  }

  async create(): Promise<HeldVaultKey> {
    const key = makeKey(this.#now())
    const whole = `${this.#path}.new-${randomBytes(6).toString('hex')}`
    try {
      await this.#append(whole, writeKeyText(key))
      await this.#giveNumber(whole)
    } finally {
      rmSync(whole, { force: true })
    }
    return key
  }

  async remove(kid: string): Promise<void> {
    const files = this.#files()
    const holder = files.find(({ keys }) => keys.some((key) => key.kid === kid))
    if (!this.#retired().includes(kid))
      await this.#append(`${this.#path}.retired`, retiredText(kid, this.#now()))
    if (holder) await this.#takeFrom(holder, kid, files)
  }

  #found(): FoundKeys {
    const keys = new Map(
      this.#files().flatMap((file) => file.keys.map((key) => [key.kid, key] as const)),
    )
    const retired = this.#retired()
    for (const kid of retired) keys.delete(kid)
    return { keys: [...keys.values()], retired }
  }

  async #makeFirst(): Promise<void> {
    try {
      await this.#append(this.#path, writeKeyText(makeKey(this.#now())))
    } catch (thrown) {
      const { cause } = toSallyportError(thrown)
      throw unusable(`there is no key in ${this.#path}, and none can be made: ${cause}`)
    }
  }

  /** A power cut may have come between the name and the removal. */
  async #finishRemovals(): Promise<void> {
    const retired = this.#retired()
    if (retired.length === 0) return
    const files = this.#files()
    const left = files.flatMap((file) =>
      file.keys.flatMap(({ kid }) => (retired.includes(kid) ? [{ file, kid }] : [])),
    )
    for (const { file, kid } of left) {
      try {
        await this.#takeFrom(file, kid, files)
      } catch {
        // Its name is there: nobody opens anything with it, and the next start tries again.
      }
    }
  }

  #retired(): readonly string[] {
    const text = readIfThere(`${this.#path}.retired`)
    return text === undefined ? [] : readKeyText(text).retired
  }

  /** Newest first. */
  #files(): KeyFile[] {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const numbers = this.#numbers()
      const texts = numbers.map((number) => readIfThere(this.#pathOf(number)))
      const isWhole = !texts.includes(undefined) && String(numbers) === String(this.#numbers())
      if (!isWhole) continue
      return numbers.map((number, at) => {
        const { keys } = readKeyText(texts[at] ?? '')
        return { path: this.#pathOf(number), number, keys }
      })
    }
    throw unusable(`the files of ${this.#path} change all the time`)
  }

  #numbers(): number[] {
    const name = basename(this.#path)
    const numbers = readFolder(dirname(this.#path)).flatMap((entry) => {
      if (entry === name) return [1]
      const number = entry.startsWith(`${name}.`) ? entry.slice(name.length + 1) : ''
      return /^[1-9]\d{0,8}$/.test(number) && number !== '1' ? [Number(number)] : []
    })
    return numbers.sort((one, other) => other - one)
  }

  #pathOf(number: number): string {
    return number === 1 ? this.#path : `${this.#path}.${number}`
  }

  /** The next number that is free; of two at once, one takes the one after it. */
  async #giveNumber(whole: string): Promise<void> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const [highest = 1] = this.#numbers()
      try {
        linkSync(whole, this.#pathOf(highest + 1))
        await this.#flushFolder()
        return
      } catch (thrown) {
        if (codeOf(thrown) !== 'EEXIST') throw fixed(thrown)
      }
    }
    throw unusable(`no number is free beside ${this.#path}`)
  }

  /** The file without a number always holds a key: it is the one that people know, and back up. */
  async #takeFrom(
    { path, number, keys }: KeyFile,
    kid: string,
    files: readonly KeyFile[],
  ): Promise<void> {
    const others = keys.filter((key) => key.kid !== kid)
    const next = files.filter((file) => file.number > 1 && file.keys.length > 0).at(-1)
    try {
      if (others.length > 0) await this.#replace(path, others.map(writeKeyText).join(''))
      else if (number > 1) rmSync(path)
      else if (next) renameSync(next.path, path)
      else throw new TypeError('the only key is not taken away')
      await this.#flushFolder()
    } catch (thrown) {
      throw fixed(thrown)
    }
  }

  async #replace(path: string, text: string): Promise<void> {
    const whole = `${this.#path}.new-${randomBytes(6).toString('hex')}`
    await this.#append(whole, text)
    renameSync(whole, path)
  }

  /** On the disk when it resolves. Made when it is not there, for its owner only. */
  async #append(path: string, text: string): Promise<void> {
    try {
      await using file = await open(path, 'a', 0o600)
      await file.write(text)
      await file.sync()
      await this.#flushFolder()
    } catch (thrown) {
      throw fixed(thrown)
    }
  }

  /**
   * A name that a power cut takes away would take every secret with it. By a handle: Node's permission model takes away the
   * functions that flush a number.
   */
  async #flushFolder(): Promise<void> {
    await using folder = await open(dirname(this.#path), 'r')
    await folder.sync()
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw unusable(`${path} cannot be read (${codeOf(thrown)})`)
  }
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path)
  } catch (thrown) {
    throw unusable(`${path} cannot be read (${codeOf(thrown)})`)
  }
}

/** A programmer's mistake stays one. */
function fixed(thrown: unknown): unknown {
  const code = codeOf(thrown)
  if (code === undefined) return thrown
  return new SallyportError('vault_key_fixed', {
    cause: new Error(`it cannot be written (${code})`),
  })
}

function codeOf(thrown: unknown): string | undefined {
  return (thrown as NodeJS.ErrnoException | undefined)?.code
}
