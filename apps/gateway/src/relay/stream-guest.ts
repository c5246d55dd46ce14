/** A guest at the other end of a single stream of bytes: records as lines, in both directions (protocol/shim-wire). */
import type { Duplex } from 'node:stream'
import {
  type GatewayLine,
  type GatewayRecord,
  lineReader,
  shimIdForm,
} from '@sallyport/protocol/shim'
import type { InnerDoor } from './inner-door.ts'
import { RecordDesk } from './record-desk.ts'

export interface StreamGuestOptions {
  readonly door: InnerDoor
  readonly now: () => number
  /** Bytes of a message. */
  readonly limit: () => number
  readonly self: () => GatewayRecord
}

/** Room for a record around its message, whose quotes are written twice. */
const lineLimitOf = (messageLimit: number): number => 2 * messageLimit + 65_536
const backlogBytes = 8 * 1024 * 1024

export class StreamGuest {
  readonly #stream: Duplex
  readonly #options: StreamGuestOptions
  readonly #desk: RecordDesk
  /** The one that speaks now. */
  #shim: string | undefined
  /** Until the ones before are known to have gone. */
  #left: Promise<void> = Promise.resolve()
  /** All wait together, until it has drained or is closed. */
  #drained: PromiseWithResolvers<void> | undefined

  constructor(stream: Duplex, options: StreamGuestOptions) {
    this.#stream = stream
    this.#options = options
    this.#desk = new RecordDesk({
      ...options,
      carry: (id, answer, isLast) =>
        this.#write(isLast ? { res: id, ...answer } : { part: id, ...answer }),
    })
    const read = lineReader(
      lineLimitOf(options.limit()),
      (line) => this.#line(line),
      (beginning) => this.#tooLong(beginning.toString('latin1')),
    )
    stream.on('data', read)
    stream.on('error', () => {})
    stream.on('drain', () => this.#goOn())
    stream.once('close', () => {
      this.#goOn()
      void this.#desk.leave()
    })
    stream.once('end', () => stream.end())
  }

  #line(bytes: Buffer): void {
    const line = parsed(bytes)
    if (line === undefined) return
    const { ask, req, cancel, taken, shim = ask } = line
    if (isId(shim) && (ask !== undefined || req !== undefined)) this.#speaks(shim)
    if (isId(ask)) void this.#write({ to: ask, ...this.#options.self() })
    else if (isId(cancel)) void this.#desk.cancel(cancel)
    else if (isId(taken)) this.#desk.taken(taken)
    else if (isId(req)) {
      void this.#write({ read: req })
      void this.#left.then(() => this.#desk.take(req, line))
    }
  }

  /** Another one than before has taken its place. */
  #speaks(shim: string): void {
    if (this.#shim !== undefined && this.#shim !== shim) this.#left = this.#desk.leave()
    this.#shim = shim
  }

  #tooLong(beginning: string): void {
    const id = /^\{"req":"([0-9a-f]{32})"/.exec(beginning)?.[1]
    if (id !== undefined) this.#desk.refuse(id, 'too_large')
  }

  /** A guest that reads nothing is waited for, and cut off when too much waits for it. */
  async #write(line: GatewayLine): Promise<void> {
    const stream = this.#stream
    if (stream.destroyed || stream.writableEnded) return
    if (stream.writableLength > backlogBytes) {
      stream.destroy()
      return
    }
    if (stream.write(`${JSON.stringify(line)}\n`)) return
    this.#drained ??= Promise.withResolvers()
    await this.#drained.promise
  }

  #goOn(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }
}

type Line = { readonly [name in 'ask' | 'req' | 'cancel' | 'taken' | 'shim']?: unknown }

function parsed(bytes: Buffer): Line | undefined {
  try {
    const line: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof line === 'object' && line !== null ? line : undefined
  } catch {
    return undefined
  }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && shimIdForm.test(value)
}
