/** For tests: the far end of a link, which does only what a test tells it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'
import { release } from '@sallyport/protocol'
import {
  type Certified,
  createAuthority,
  encodeFrame,
  type Frame,
  type FrameKind,
  FrameReader,
  type Hello,
  issueCertificate,
  wireVersion,
} from '@sallyport/protocol/node'
import type { Clock } from './clock.ts'
import type { Identity } from './dial.ts'

const authority = createAuthority({ commonName: 'tests', days: 1 })

export function identityOf(
  role: 'gateway' | 'worker' | 'operator',
  issuer: Certified = authority,
): Identity {
  const leaf = issueCertificate({ authority: issuer, role, commonName: role, days: 1 })
  return { ...leaf, authorityPem: authority.certificatePem }
}

export function helloOf(changed: Partial<Hello> = {}): Hello {
  return {
    wire: wireVersion,
    release,
    build: 'test',
    role: 'worker',
    instance: 'worker-1',
    now: Date.now(),
    pid: process.pid,
    memorySince: 0,
    vault: { kid: 'k', jwk: { kty: 'OKP', crv: 'X25519', x: 'x' } },
    coreDumps: 'off',
    ...changed,
  }
}

/** One connection as the worker sees it. */
export class ScriptedConnection {
  readonly frames: Frame[] = []
  /** Pieces that bytes came in, hello's aside. */
  reads = 0
  readonly #socket: TLSSocket
  readonly #reader = new FrameReader()
  readonly #watchers = new Set<() => void>()

  constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      const known = this.frames.length
      this.frames.push(...this.#reader.push(chunk))
      if (known > 0) this.reads++
      this.#changed()
    })
    socket.on('error', () => {})
    socket.on('close', () => this.#changed())
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  kinds(): FrameKind[] {
    return this.frames.map(({ kind }) => kind)
  }

  of(kind: FrameKind): Frame[] {
    return this.frames.filter((frame) => frame.kind === kind)
  }

  /** Resolves with the first frames of that kind when there are as many. */
  async receive(kind: FrameKind, count = 1): Promise<Frame[]> {
    await this.until(() => this.of(kind).length >= count)
    return this.of(kind)
  }

  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!holds()) return
        this.#watchers.delete(look)
        resolve()
      }
      this.#watchers.add(look)
      look()
    })
  }

  send(kind: FrameKind, head: unknown, raw = ''): void {
    this.#socket.write(encodeFrame(kind, head, Buffer.from(raw)))
  }

  /** With a head that may be no JSON of ours. */
  sendText(kind: FrameKind, head: string): void {
    const frame = Buffer.concat([encodeFrame(kind, 0).subarray(0, 9), Buffer.from(head)])
    frame.writeUInt32BE(frame.length - 4, 0)
    frame.writeUInt32BE(frame.length - 9, 5)
    this.#socket.write(frame)
  }

  sendBytes(bytes: string): void {
    this.#socket.write(bytes)
  }

  cut(): void {
    this.#socket.destroy()
  }

  #changed(): void {
    for (const look of this.#watchers) look()
  }
}

export interface ScriptedOptions {
  readonly identity?: Identity
  /** Undefined: no hello is said. */
  readonly hello?: () => Hello | undefined
}

export class ScriptedWorker {
  readonly path: string
  readonly connections: ScriptedConnection[] = []
  readonly #folder: string
  readonly #server: ReturnType<typeof createServer>
  readonly #waiting: (() => void)[] = []

  constructor(options: ScriptedOptions = {}) {
    const identity = options.identity ?? identityOf('worker')
    this.#folder = mkdtempSync(join(tmpdir(), 'sallyport-link-'))
    this.path = join(this.#folder, 'w.sock')
    const tls = {
      cert: identity.certificatePem,
      key: identity.privateKeyPem,
      ca: authority.certificatePem,
      requestCert: true,
      minVersion: 'TLSv1.3',
    } as const
    this.#server = createServer(tls, (socket) => {
      const connection = new ScriptedConnection(socket)
      const hello = options.hello ? options.hello() : helloOf()
      if (hello) connection.send('hello', hello)
      this.connections.push(connection)
      for (const wake of this.#waiting.splice(0)) wake()
    })
    this.#server.on('tlsClientError', () => {})
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(this.path, resolve))
  }

  /** The connection of that number, once it is there. */
  async connection(index: number): Promise<ScriptedConnection> {
    while (this.connections.length <= index)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.connections[index] as ScriptedConnection
  }

  async stop(): Promise<void> {
    for (const connection of this.connections) connection.cut()
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.#folder, { recursive: true })
  }
}

/** Stands still until it is stepped. */
export class SteppedClock implements Clock {
  #now: number
  #timers: { readonly at: number; readonly run: () => void }[] = []

  constructor(now: number) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** Milliseconds until each timer that is set. */
  pending(): number[] {
    return this.#timers.map(({ at }) => at - this.#now).sort((a, b) => a - b)
  }

  step(ms: number): void {
    this.#now += ms
    const due = this.#timers.filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at)
    this.#timers = this.#timers.filter(({ at }) => at > this.#now)
    for (const { run } of due) run()
  }
}
