/** A Sallyport of its own for the demo: `up` and every command run as a person runs them, through the launcher. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const launcher = join(import.meta.dirname, '..', 'apps', 'cli', 'bin', 'sallyport.js')

/** Something the demo shows did not happen. The message is for people. */
export class DemoFailure extends Error {}

export class DemoSallyport {
  readonly #folder: string
  readonly #env: Record<string, string>
  #up: ChildProcess | undefined

  constructor(folder: string) {
    this.#folder = folder
    // Nothing of the caller's environment but what programs need to be found.
    const { PATH = '' } = process.env
    this.#env = {
      PATH,
      HOME: folder,
      SALLYPORT_DATA: join(folder, 'data'),
    }
  }

  /** Resolves with the addresses once `up` says that it is ready. */
  async start(): Promise<{ readonly url: string; readonly guestUrl: string }> {
    const words = ['up', '--port', '0', '--guest-port', '0', '--allow-local-upstreams', '--json']
    say(`$ sallyport ${words.join(' ')}`)
    const up = this.#spawn(words)
    this.#up = up
    let errors = ''
    up.stderr?.on('data', (chunk) => {
      errors += chunk
    })
    const lines = createInterface({ input: up.stdout as NodeJS.ReadableStream })
    for await (const line of lines) {
      const event = JSON.parse(line)
      if (event.event !== 'ready') continue
      up.stdout?.resume()
      say(`  ready: ${event.url} for people, ${event.guestUrl} for agents`)
      return event
    }
    throw new DemoFailure(`"sallyport up" ended before it was ready: ${errors.trim()}`)
  }

  /** Runs a command, prints it with its output, and returns the output. */
  async run(...words: string[]): Promise<string> {
    say(`$ sallyport ${words.map(quote).join(' ')}`)
    const output = await this.#read(words)
    for (const line of output.trimEnd().split('\n')) say(`  ${line}`)
    return output
  }

  /** The answer of a command as data; prints only the command. */
  async ask<A>(...words: string[]): Promise<A> {
    say(`$ sallyport ${words.map(quote).join(' ')}`)
    return JSON.parse(await this.#read([...words, '--json']))
  }

  /** SIGTERM, as a person ends it; throws when it does not end well. */
  async stop(): Promise<void> {
    const up = this.#up
    this.#up = undefined
    if (!up || up.exitCode !== null || up.signalCode !== null) return
    const ended = once(up, 'exit')
    up.kill('SIGTERM')
    const [code] = await ended
    if (code !== 0) throw new DemoFailure(`"sallyport up" ended with ${code}`)
  }

  #spawn(words: readonly string[]): ChildProcess {
    return spawn(process.execPath, [launcher, ...words], {
      cwd: this.#folder,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  async #read(words: readonly string[]): Promise<string> {
    const child = this.#spawn(words)
    let stdout = ''
    let stderr = ''
    child.stdout?.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new DemoFailure(`"sallyport ${words.join(' ')}": ${stderr.trim()}`)
    return stdout
  }
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`
}
