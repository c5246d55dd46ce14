/**
 * Whether answers that somebody may have to come for again have arrived. Handed to the operating system is *collected*; a
 * connection that is reset soon after it takes that back. A reset is the only sign there is: a guest that ends before it
 * has read everything causes one, and one that has read asks on, or ends in order. A shim says more: an answer is collected
 * when its harness has taken it, and lost when the shim has gone without a word of that.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Delivery, resetWithinMs } from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'
import { type SettledCalls, shimCallOf } from './shim.ts'

interface Written {
  readonly delivery: Delivery
  readonly at: number
}

/** Answers to a shim that it has said nothing of yet. */
const unsettledLimit = 10_000

export class Deliveries {
  readonly #now: () => number
  readonly #lingerMs: number
  /** By connection: answers whose arrival nothing has shown yet. Never more than its guest had calls open at once. */
  readonly #written = new WeakMap<Socket, Written[]>()
  /** By session and call, oldest first. */
  readonly #unsettled = new Map<string, Written>()
  /** Keys of them by connection, which takes them along when it ends. */
  readonly #carried = new WeakMap<Socket, Set<string>>()
  readonly #sweep: NodeJS.Timeout

  constructor(now: () => number, lingerMs: number) {
    this.#now = now
    this.#lingerMs = lingerMs
    this.#sweep = setInterval(() => this.sweep(), sweepMs)
    this.#sweep.unref()
  }

  stop(): void {
    clearInterval(this.#sweep)
  }

  /** A request came: whoever sends it has what was answered before. */
  request(socket: Socket): void {
    const written = this.#written.get(socket)
    if (written) written.length = 0
  }

  /** To be called before the answer is written; tells `delivery` what becomes of it. */
  watch(delivery: Delivery, session: SessionId, req: IncomingMessage, res: ServerResponse): void {
    if (res.closed) {
      delivery.lost()
      return
    }
    const call = shimCallOf(req)
    if (call === undefined) this.#watchSocket(delivery, req, res)
    else this.#awaitWord(delivery, `${session} ${call}`, req, res)
  }

  /** A shim says what became of an answer. */
  settle(session: SessionId, { call, fate }: SettledCalls): void {
    const delivery = this.#forget(`${session} ${call}`)
    if (fate === 'delivered') delivery?.collected()
    else delivery?.lost()
  }

  /** What nobody has said a word of for so long, nobody will. */
  sweep(): void {
    const horizon = this.#now() - resetWithinMs
    for (const [key, { at }] of this.#unsettled) {
      if (at > horizon && this.#unsettled.size <= unsettledLimit) return
      this.#forget(key)?.lost()
    }
  }

  #forget(key: string): Delivery | undefined {
    const unsettled = this.#unsettled.get(key)
    this.#unsettled.delete(key)
    return unsettled?.delivery
  }

  #watchSocket(delivery: Delivery, { socket }: IncomingMessage, res: ServerResponse): void {
    const written = this.#of(socket)
    let isCollected = false
    res.once('finish', () => {
      // An end that came before the answer proves nothing, and its reset would come when we no longer look.
      if (socket.readableEnded) return
      isCollected = true
      delivery.collected()
      written.push({ delivery, at: this.#now() })
    })
    res.once('close', () => {
      if (!isCollected) delivery.lost()
    })
  }

  #awaitWord(
    delivery: Delivery,
    key: string,
    { socket }: IncomingMessage,
    res: ServerResponse,
  ): void {
    // Before it is written: the word of a quick shim may overtake the event that it was.
    this.#forget(key)?.lost()
    this.#unsettled.set(key, { delivery, at: this.#now() })
    this.sweep()
    res.once('close', () => {
      if (!res.writableFinished || socket.destroyed) this.#forget(key)?.lost()
      // A connection for this request alone ends with it, whoever is at the other end.
      else if (res.shouldKeepAlive) this.#carry(socket, key)
    })
  }

  #carry(socket: Socket, key: string): void {
    const known = this.#carried.get(socket)
    const keys = known ?? new Set<string>()
    for (const earlier of keys) if (!this.#unsettled.has(earlier)) keys.delete(earlier)
    keys.add(key)
    if (known) return
    this.#carried.set(socket, keys)
    socket.once('close', () => {
      for (const carried of keys) this.#forget(carried)?.lost()
    })
  }

  #of(socket: Socket): Written[] {
    const known = this.#written.get(socket)
    if (known) return known
    const written: Written[] = []
    this.#written.set(socket, written)
    this.#keepForReset(socket)
    socket.once('close', (hadError) => {
      const since = this.#now() - resetWithinMs
      if (hadError) for (const { delivery, at } of written) if (at >= since) delivery.lost()
    })
    return written
  }

  /** A guest that asked for the connection to be closed: we end first, and a reset comes only after that. */
  #keepForReset(socket: Socket): void {
    socket.destroySoon = () => {
      socket.end()
      setTimeout(() => socket.destroy(), this.#lingerMs).unref()
    }
  }
}

const sweepMs = 5_000
