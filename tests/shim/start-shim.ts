/** The built shim as a harness starts it: messages as lines, in both directions. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const shimFile = fileURLToPath(
  new URL('../../apps/shim/sallyport-shim.mjs', import.meta.url),
)

// biome-ignore lint/suspicious/noExplicitAny: tests look into it
export type Message = any

export interface ShimOptions {
  readonly args: readonly string[]
  /** Another Node than the one of the tests. */
  readonly node?: string | undefined
  /** Another file than the built one. */
  readonly file?: string | undefined
  /** From descriptor 3 up. */
  readonly more?: readonly unknown[]
}

export class Shim {
  readonly child: ChildProcess
  /** Every line of stdout, in order. */
  readonly lines: string[] = []
  stderr = ''
  readonly #exited: Promise<unknown>
  #rest = ''
  #lastId = 0
  #waiting: (() => void)[] = []

  constructor({ args, node = process.execPath, file = shimFile, more = [] }: ShimOptions) {
    const stdio = ['pipe', 'pipe', 'pipe', ...more] as StdioOptions
    const env = { PATH: process.env['PATH'] ?? '' }
    this.child = spawn(node, [file, ...args], { stdio, env })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.child.stdin?.on('error', () => {})
    this.#exited = once(this.child, 'close')
  }

  get pid(): number {
    return this.child.pid as number
  }

  get messages(): Message[] {
    return this.lines.map((line) => JSON.parse(line))
  }

  /** Bytes as they are. */
  write(bytes: string | Buffer): void {
    this.child.stdin?.write(bytes)
  }

  tell(method: string, params?: object): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`)
  }

  /** Sends a request with an id of its own; resolves with its response. */
  async ask(
    method: string,
    params?: object,
    id: string | number = ++this.#lastId,
  ): Promise<Message> {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return this.answer(id)
  }

  /** The response to that id. */
  async answer(id: unknown, withinMs?: number): Promise<Message> {
    const isIt = (message: Message) => message.id === id && !('method' in message)
    await this.until(() => this.messages.some(isIt), withinMs)
    return this.messages.find(isIt)
  }

  async initialize(protocolVersion = '2025-11-25'): Promise<Message> {
    const clientInfo = { name: 'test', version: '1' }
    const answer = await this.ask('initialize', { protocolVersion, capabilities: {}, clientInfo })
    this.tell('notifications/initialized')
    return answer
  }

  /** Resolves when the condition holds of what has come; fails after a while or when the shim has ended. */
  async until(condition: () => boolean, withinMs = 15_000): Promise<void> {
    const deadline = Date.now() + withinMs
    while (!condition()) {
      if (Date.now() > deadline || this.child.exitCode !== null)
        throw new Error(`only: ${this.lines.join('\n')}\nstderr: ${this.stderr}`)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
        setTimeout(resolve, 100)
      })
    }
  }

  /** Ends its stdin and waits for it; the exit code. */
  async end(): Promise<number | null> {
    this.child.stdin?.end()
    await this.#exited
    return this.child.exitCode
  }

  async exited(): Promise<number | null> {
    await this.#exited
    return this.child.exitCode
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal)
    await this.#exited
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() as string
    this.lines.push(...lines)
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** A token in a file as the shim wants it. */
export function tokenFile(token: string, mode = 0o600): { path: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-token-'))
  const path = join(folder, 'token')
  writeFileSync(path, `${token}\n`, { mode })
  return { path, remove: () => rmSync(folder, { recursive: true }) }
}
