/** One Sallyport whose every word is kept: what its API answers, what commands print, what guests are told. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Sallyport } from '../harness/start-sallyport.ts'
import { type Ended, startCommand } from './commands.ts'
import { Evidence } from './evidence.ts'
import type { GuestJob } from './guest-process.ts'

/** Of an API answer, what the tests look at. */
export interface ApiJson {
  readonly code?: string | null
  readonly error?: { readonly code: string }
  readonly items?: readonly { readonly id: string }[]
  readonly endpoint?: string
  readonly token?: string
}

/** What the guest process says of one call. */
export interface GuestLine {
  readonly result?: {
    readonly content: unknown
    readonly isError?: boolean
    readonly structuredContent?: { readonly error?: { readonly code: string } }
  }
  readonly thrown?: string
  readonly progress: readonly unknown[]
}

const guestProgram = join(import.meta.dirname, 'guest-process.ts')

export class Watched {
  readonly evidence = new Evidence()
  readonly home: string
  readonly #sallyport: Sallyport

  /** `home`: of the commands and guests, and nobody else's. */
  constructor(sallyport: Sallyport, home: string) {
    this.#sallyport = sallyport
    this.home = home
  }

  /** As the administrator. A text goes out as it is. */
  async ask(method: string, path: string, body?: object | string) {
    const { url, adminToken } = this.#sallyport
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const head = JSON.stringify([...answer.headers])
    this.evidence.add('API answer', `${method} ${path}`, `${head}\n${text}`)
    return { status: answer.status, json: JSON.parse(text) as ApiJson }
  }

  command(words: readonly string[], stdin = ''): { pid: number; ended: Promise<Ended> } {
    const { dataDir } = this.#sallyport
    const { pid, ended } = startCommand(words, { dataDir, home: this.home, stdin })
    return { pid, ended: this.#keepOutput(words.join(' '), ended) }
  }

  run(words: readonly string[], stdin?: string): Promise<Ended> {
    return this.command(words, stdin).ended
  }

  async #keepOutput(holder: string, ended: Promise<Ended>): Promise<Ended> {
    const end = await ended
    this.evidence.add('command output', holder, end.stdout + end.stderr)
    return end
  }

  /** `answers` resolves with one line a call, in their order. */
  guest(job: GuestJob): { pid: number; answers: Promise<GuestLine[]> } {
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, [guestProgram], { env: { PATH }, cwd: this.home })
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (chunk) => {
        output[name] += chunk
      })
    child.stdin.end(JSON.stringify(job))
    const answers = once(child, 'close').then(([code]) => {
      this.evidence.add('guest result', job.endpoint, output.stdout + output.stderr)
      if (code !== 0) throw new Error(`the guest ended with ${code}: ${output.stderr}`)
      const [, ...lines] = output.stdout.trim().split('\n')
      return lines.map((line) => JSON.parse(line) as GuestLine)
    })
    return { pid: child.pid as number, answers }
  }
}
