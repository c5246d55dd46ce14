/** Keys from an inherited descriptor: a file, which can be read again, or a pipe, which cannot. Never written. */
import { closeSync, fstatSync, readFileSync, readSync } from 'node:fs'
import { SallyportError } from '@sallyport/protocol'
import type { KeySource } from './key-source.ts'
import { type FoundKeys, type HeldVaultKey, readKeyText, unusable } from './key-text.ts'

const mostBytes = 65_536

export class DescriptorSource implements KeySource {
  readonly kind = 'descriptor'
  readonly restMs = 0
  readonly #descriptor: number
  /** Of a pipe. */
  #found: FoundKeys | undefined

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  async read(): Promise<FoundKeys> {
    const found = this.#found ?? readKeyText(this.#text())
    if (found.keys.length === 0) throw unusable(`there is no key in descriptor ${this.#descriptor}`)
    return found
  }

  create(): Promise<HeldVaultKey> {
    return Promise.reject(new SallyportError('vault_key_fixed'))
  }

  remove(): Promise<void> {
    return Promise.reject(new SallyportError('vault_key_fixed'))
  }

  #text(): string {
    try {
      return fstatSync(this.#descriptor).isFile() ? this.#fromStart() : this.#once()
    } catch (thrown) {
      if (thrown instanceof SallyportError) throw thrown
      const { code } = thrown as NodeJS.ErrnoException
      throw unusable(`descriptor ${this.#descriptor} cannot be read (${code})`)
    }
  }

  /** By position: whoever shares the descriptor, a worker before this one, shares where it stands too. */
  #fromStart(): string {
    const bytes = Buffer.alloc(mostBytes)
    const size = readSync(this.#descriptor, bytes, 0, mostBytes, 0)
    const text = bytes.toString('utf8', 0, size)
    bytes.fill(0)
    return text
  }

  #once(): string {
    const text = readFileSync(this.#descriptor, 'utf8')
    closeSync(this.#descriptor)
    this.#found = readKeyText(text)
    return text
  }
}
