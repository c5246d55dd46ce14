/** A worker with a certificate of ours that does each order, and then says whatever it is told to say about it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import {
  type BodyHead,
  type CommittedHead,
  type Frame,
  FrameReader,
  type IntentsHead,
  type RecoverHead,
} from '@sallyport/protocol/node'
import { helloOf, identityOf } from '../../apps/gateway/src/worker/scripted-worker.ts'
import { bytesOf, type Said } from './hostile-frames.ts'

/** An order that may be done: its intent's id and its arguments. */
export interface Order {
  readonly id: string
  readonly text: string
}

/** What is said about orders that were committed together, piece by piece. */
export type Answer = (orders: readonly Order[]) => readonly Buffer[]

const none = Buffer.alloc(0)

export class HostileWorker {
  readonly path: string
  answer: Answer = () => []
  readonly #folder: string
  readonly #server: Server
  readonly #sockets = new Set<TLSSocket>()
  connections = 0

  private constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'sallyport-fuzz-'))
    this.path = join(this.#folder, 'w.sock')
    const { certificatePem, privateKeyPem, authorityPem } = identityOf('worker')
    const tls = { cert: certificatePem, key: privateKeyPem, ca: authorityPem } as const
    const both = { ...tls, requestCert: true, minVersion: 'TLSv1.3' } as const
    this.#server = createServer(both, (socket) => this.#accept(socket))
    this.#server.on('tlsClientError', () => {})
  }

  static async start(): Promise<HostileWorker> {
    const worker = new HostileWorker()
    await new Promise<void>((resolve) => worker.#server.listen(worker.path, resolve))
    return worker
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(this.#folder, { recursive: true })
  }

  #accept(socket: TLSSocket): void {
    this.connections++
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
    const reader = new FrameReader()
    const talk = new Talk(socket, (orders) => this.answer(orders))
    talk.say({ kind: 'hello', head: helloOf(), raw: none })
    socket.on('data', (chunk: Buffer) => {
      for (const frame of reader.push(chunk)) talk.take(frame)
    })
  }
}

/** What is known on one connection. */
class Talk {
  readonly #socket: TLSSocket
  readonly #answer: Answer
  /** Ids of each batch, in order. */
  readonly #batches = new Map<string, string[]>()
  readonly #texts = new Map<string, string>()

  constructor(socket: TLSSocket, answer: Answer) {
    this.#socket = socket
    this.#answer = answer
  }

  say(said: Said): void {
    this.#write(bytesOf(said))
  }

  take({ kind, head, raw }: Frame): void {
    if (kind === 'intents') {
      const ids = raw
        .toString()
        .split('\n')
        .map((line) => String(JSON.parse(line).id))
      this.#batches.set((head as IntentsHead).batch, ids)
    } else if (kind === 'body') this.#texts.set((head as BodyHead).intent, raw.toString())
    else if (kind === 'committed') this.#committed(head as CommittedHead)
    else if (kind === 'ping') this.say({ kind: 'pong', head, raw: none })
    else if (kind === 'recover')
      for (const { id } of (head as RecoverHead).intents)
        this.say({
          kind: 'recovered',
          head: { intent: id, instance: helloOf().instance, state: 'not_known' },
          raw: none,
        })
  }

  #committed({ batch, admitted }: CommittedHead): void {
    const ids = this.#batches.get(batch) ?? []
    const orders = admitted.map((position) => {
      const id = ids[position] ?? ''
      return { id, text: this.#texts.get(id) ?? '' }
    })
    for (const piece of this.#answer(orders)) this.#write(piece)
  }

  #write(bytes: Buffer): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes)
  }
}
