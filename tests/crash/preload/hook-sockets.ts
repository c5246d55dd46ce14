/**
 * What a process writes to and reads from its peers, at the last point that JavaScript sees: after a write has returned, its
 * bytes are the kernel's and arrive, whatever becomes of the process.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { FrameReader } from '@sallyport/protocol/node'
import type { Role, StepBook } from './step-book.ts'

type Peer = Role | 'guest'
type Write = (this: Socket, ...args: WriteArguments) => unknown
type WriteArguments = [isMany: boolean, data: unknown, encoding: string, done: unknown]
type Push = (this: Socket, chunk: Buffer | null, ...rest: unknown[]) => boolean
type Connect = (this: Socket, ...args: unknown[]) => Socket

/** Of a prototype that documents less than it has. */
interface Inner {
  _writeGeneric: Write
  push: Push
  connect: Connect
}

const quiet: ReadonlySet<string> = new Set(['hello', 'ping', 'pong'])
const isCall = (text: string): boolean => text.includes('"tools/call"')

export function hookSockets(role: Role, book: StepBook): void {
  const peers = new WeakMap<Socket, Peer>()
  markPeers(role, peers, book)
  const names = new TrafficNames(role, (socket) => peerOf(socket, role, peers))
  hookWrites(names, book)
  hookReads(names, book)
}

function hookWrites(names: TrafficNames, book: StepBook): void {
  const inner = Socket.prototype as unknown as Inner
  const write = inner._writeGeneric
  inner._writeGeneric = function (...args) {
    // Comes again once it is connected.
    const found = this.connecting ? [] : names.ofWrite(this, args[0], args[1])
    if (found.length > 0) book.reach(found, 'before')
    const result = write.apply(this, args)
    if (found.length > 0) book.reach(found, 'after')
    return result
  }
}

function hookReads(names: TrafficNames, book: StepBook): void {
  const inner = Socket.prototype as unknown as Inner
  const push = Readable.prototype.push as Push
  inner.push = function (chunk, ...rest) {
    const found = chunk ? names.ofRead(this, chunk) : []
    if (found.length > 0) book.reach(found, 'before')
    const result = push.call(this, chunk, ...rest)
    if (found.length > 0) book.reach(found, 'after')
    return result
  }
}

function peerOf(socket: Socket, role: Role, peers: WeakMap<Socket, Peer>): Peer | undefined {
  if (socket instanceof TLSSocket && role !== 'upstream')
    return role === 'gateway' ? 'worker' : 'gateway'
  return peers.get(socket)
}

function markPeers(role: Role, peers: WeakMap<Socket, Peer>, book: StepBook): void {
  if (role === 'worker') {
    const inner = Socket.prototype as unknown as Inner
    const { connect } = inner
    inner.connect = function (...args) {
      peers.set(this, 'upstream')
      const held = book.wait(['upstream:connect'], 'before')
      const go = (): void => {
        connect.apply(this, args)
        book.reach(['upstream:connect'], 'after')
      }
      if (held === undefined) go()
      else void held.then(go)
      return this
    }
    return
  }
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { request: IncomingMessage }
    if (request.url?.startsWith('/mcp'))
      peers.set(request.socket, role === 'gateway' ? 'guest' : 'worker')
  })
}

class TrafficNames {
  readonly #role: Role
  readonly #peerOf: (socket: Socket) => Peer | undefined
  readonly #readers = new WeakMap<Socket, FrameReader>()
  /** Whose last request was a call. */
  readonly #called = new WeakSet<Socket>()

  constructor(role: Role, peerOf: (socket: Socket) => Peer | undefined) {
    this.#role = role
    this.#peerOf = peerOf
  }

  ofWrite(socket: Socket, isMany: boolean, data: unknown): string[] {
    const peer = this.#peerOf(socket)
    if (peer === undefined) return []
    const bytes = bytesOf(isMany, data)
    if (peer === 'gateway' || (peer === 'worker' && this.#role === 'gateway'))
      return framesOf(new FrameReader(), bytes).map((kind) => `${peer}<${kind}`)
    const text = bytes.toString('latin1')
    if (peer !== 'upstream') return text.includes('"done"') ? [`${peer}<answer`] : []
    if (isCall(text)) this.#called.add(socket)
    else this.#called.delete(socket)
    return isCall(text) ? ['upstream<call'] : []
  }

  ofRead(socket: Socket, chunk: Buffer): string[] {
    const peer = this.#peerOf(socket)
    if (peer === 'upstream') return this.#called.has(socket) ? ['upstream>answer'] : []
    if (peer === undefined || peer === 'guest' || this.#role === 'upstream') return []
    const reader = this.#readers.get(socket) ?? new FrameReader()
    this.#readers.set(socket, reader)
    return framesOf(reader, chunk).map((kind) => `${peer}>${kind}`)
  }
}

function framesOf(reader: FrameReader, bytes: Buffer): string[] {
  return [...new Set(reader.push(bytes).map(({ kind }) => kind))].filter((kind) => !quiet.has(kind))
}

function bytesOf(isMany: boolean, data: unknown): Buffer {
  if (!isMany) return Buffer.from(data as string | Uint8Array)
  const parts = data as (Buffer | { readonly chunk: string | Buffer })[]
  return Buffer.concat(
    parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(part.chunk as string))),
  )
}
