/** Keys from what a program prints: that of a KMS, or of the keychain of the system. Run without a shell. */
import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { SallyportError } from '@sallyport/protocol'
import type { KeySource } from './key-source.ts'
import { type FoundKeys, type HeldVaultKey, readKeyText, unusable } from './key-text.ts'

const endsWithinMs = 10_000
const mostBytes = 65_536
/** The worker has no environment; a program that needs more is wrapped in one that sets it. */
const environment = { PATH: '/usr/local/bin:/usr/bin:/bin' }

/** Node hands its own limits on in a variable, by which a program for Node would not find its own files. */
function unlimited(words: readonly string[]): readonly string[] {
  return process.permission ? ['/usr/bin/env', '-u', 'NODE_OPTIONS', ...words] : words
}

export class CommandSource implements KeySource {
  readonly kind = 'command'
  readonly restMs = 30_000
  readonly #words: readonly string[]
  readonly #withinMs: number

  constructor(words: readonly string[], withinMs = endsWithinMs) {
    this.#words = words
    this.#withinMs = withinMs
  }

  async read(): Promise<FoundKeys> {
    const found = readKeyText(await this.#run())
    if (found.keys.length === 0) throw unusable('the command prints no key')
    return found
  }

  create(): Promise<HeldVaultKey> {
    return Promise.reject(new SallyportError('vault_key_fixed'))
  }

  remove(): Promise<void> {
    return Promise.reject(new SallyportError('vault_key_fixed'))
  }

  #run(): Promise<string> {
    const [program = '', ...args] = unlimited(this.#words)
    return new Promise((resolve, reject) => {
      // Its words about what went wrong may hold the secret: nobody reads them.
      const child = spawn(program, args, {
        env: environment,
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      })
      child.once('error', ({ code }: NodeJS.ErrnoException) =>
        reject(unusable(`the command cannot be run (${code})`)),
      )
      // Without a descriptor left there is neither a process nor a stream; the error is told next.
      if (child.pid === undefined) return
      const group = -child.pid
      const end = () => endGroup(group, child.stdout)
      const late = setTimeout(end, this.#withinMs)
      const chunks: Buffer[] = []
      let size = 0
      child.stdout.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size <= mostBytes) chunks.push(chunk)
        else end()
      })
      child.once('close', (code, signal) => {
        clearTimeout(late)
        if (code === 0 && size <= mostBytes) resolve(Buffer.concat(chunks).toString('utf8'))
        else if (size > mostBytes) reject(unusable('the command prints too much'))
        else reject(unusable(`the command ended with ${signal ?? code}`))
      })
    })
  }
}

/** The program and what it started; whatever still holds its output is not waited for. */
function endGroup(group: number, output: Readable): void {
  try {
    process.kill(group, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
  output.destroy()
}
