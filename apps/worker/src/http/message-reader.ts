/** Reads one JSON-RPC message from bytes as they stream in. What is over its limit is counted and digested, not kept. */
import { createHash, type Hash } from 'node:crypto'
import { SallyportError } from '@sallyport/protocol'
import { type Digest, digestBytes } from '@sallyport/protocol/node'
import { Gathered } from './gathered.ts'
import { MemberScanner, type MemberSink } from './member-scanner.ts'
import { type Beginning, ResultBeginning } from './result-beginning.ts'

/** The bytes of `result` or `error`, exactly as they came. */
export interface Payload {
  /** Undefined when they were over the limit. */
  readonly raw: Buffer | undefined
  /** What can be told of a result that was. */
  readonly beginning?: Beginning | undefined
  readonly bytes: number
  readonly digest: Digest
}

export interface Message {
  /** Undefined for a notification. */
  readonly id: unknown
  readonly method: string | undefined
  readonly params: unknown
  readonly result: Payload | undefined
  readonly error: Payload | undefined
  /** The deepest nesting inside the message. */
  readonly deepest: number
}

/** Ids, method names and the parameters of what a server may say beside an answer. */
const smallLimit = 65_536
const known = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])

export class MessageReader {
  readonly #limit: number
  readonly #contentBytes: number
  #scanner: MemberScanner
  #members = new Map<string, Collected>()
  #current: Collected | undefined

  /** `limit`: bytes of a result or an error that are kept. `contentBytes`: of the content of a longer result. */
  constructor(limit: number, contentBytes = 0) {
    this.#limit = limit
    this.#contentBytes = contentBytes
    this.#scanner = new MemberScanner(this.#sink)
  }

  /** Throws `upstream_protocol`. */
  push(part: Buffer): void {
    this.#scanner.push(part)
  }

  /** The message, and begins the next. Throws `upstream_protocol` for what is no message. */
  end(): Message {
    this.#scanner.finish()
    const members = this.#members
    const deepest = this.#scanner.deepest
    this.#members = new Map()
    this.#scanner = new MemberScanner(this.#sink)
    if (members.get('jsonrpc')?.json() !== '2.0') fail()
    const method = members.get('method')?.json()
    if (method !== undefined && typeof method !== 'string') fail()
    return {
      id: members.get('id')?.json(),
      method,
      params: members.get('params')?.jsonIfSmall(),
      result: members.get('result')?.payload(),
      error: members.get('error')?.payload(),
      deepest,
    }
  }

  readonly #sink: MemberSink = {
    value: (name, part) => {
      if (!known.has(name)) return
      this.#current ??= this.#begin(name)
      this.#current.add(part)
    },
    end: () => {
      this.#current = undefined
    },
  }

  /** Two members of one name are two messages, depending on the reader. */
  #begin(name: string): Collected {
    if (this.#members.has(name)) fail()
    const isPayload = name === 'result' || name === 'error'
    const contentBytes = name === 'result' ? this.#contentBytes : 0
    const collected = new Collected(isPayload ? this.#limit : smallLimit, contentBytes)
    this.#members.set(name, collected)
    return collected
  }
}

class Collected {
  readonly #limit: number
  readonly #contentBytes: number
  #kept = new Gathered()
  #bytes = 0
  /** Set once over the limit. */
  #hash: Hash | undefined
  #beginning: ResultBeginning | undefined

  constructor(limit: number, contentBytes: number) {
    this.#limit = limit
    this.#contentBytes = contentBytes
  }

  add(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes <= this.#limit) {
      this.#kept.push(part)
      return
    }
    if (!this.#hash) this.#exceed()
    this.#pass(part)
  }

  #exceed(): void {
    this.#hash = createHash('sha256')
    if (this.#contentBytes > 0) this.#beginning = new ResultBeginning(this.#contentBytes)
    this.#pass(this.#kept.whole())
    this.#kept = new Gathered()
  }

  #pass(part: Buffer): void {
    this.#hash?.update(part)
    this.#beginning?.push(part)
  }

  json(): unknown {
    if (this.#hash) fail()
    try {
      return JSON.parse(this.#kept.whole().toString())
    } catch {
      return fail()
    }
  }

  jsonIfSmall(): unknown {
    return this.#hash ? undefined : this.json()
  }

  payload(): Payload {
    if (this.#hash) {
      const digest = `sha256:${this.#hash.digest('hex')}` as Digest
      return { raw: undefined, bytes: this.#bytes, digest, beginning: this.#beginning?.finish() }
    }
    const raw = trim(this.#kept.whole())
    return { raw, bytes: raw.length, digest: digestBytes(raw) }
  }
}

/** Without the whitespace around the value. */
function trim(bytes: Buffer): Buffer {
  let start = 0
  let end = bytes.length
  while (start < end && (bytes[start] as number) <= 32) start++
  while (end > start && (bytes[end - 1] as number) <= 32) end--
  return bytes.subarray(start, end)
}

function fail(): never {
  throw new SallyportError('upstream_protocol')
}
