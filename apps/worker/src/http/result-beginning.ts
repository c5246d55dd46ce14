/** What can be told of a result that is too long to be kept: how its content begins, and the members that say how it ended. */

import { parsedJson } from '../parsed-json.ts'
import { Gathered } from './gathered.ts'
import { MemberScanner, type MemberSink } from './member-scanner.ts'

export interface Beginning {
  /** The bytes of `content` as they came, perhaps not to its end; empty when there is none. */
  readonly content: Buffer
  readonly isError: unknown
  readonly resultType: unknown
}

const smallBytes = 64

export class ResultBeginning implements MemberSink {
  readonly #limits: ReadonlyMap<string, number>
  readonly #kept = new Map<string, Gathered>()
  readonly #scanner = new MemberScanner(this)
  #isReadable = true
  #isBegun = false

  /** `contentBytes`: as many are kept of the content. */
  constructor(contentBytes: number) {
    this.#limits = new Map([
      ['content', contentBytes],
      ['isError', smallBytes],
      ['resultType', smallBytes],
    ])
  }

  push(part: Buffer): void {
    this.#attempt(() => this.#scanner.push(part))
  }

  /** Undefined for what is no object, or one whose members have names that nobody writes. */
  finish(): Beginning | undefined {
    this.#attempt(() => this.#scanner.finish())
    if (!this.#isReadable) return undefined
    const bytesOf = (name: string): Buffer => this.#kept.get(name)?.whole() ?? Buffer.alloc(0)
    const memberOf = (name: string): unknown => parsedJson(bytesOf(name).toString())
    return {
      content: bytesOf('content'),
      isError: memberOf('isError'),
      resultType: memberOf('resultType'),
    }
  }

  value(name: string, part: Buffer): void {
    const limit = this.#limits.get(name)
    if (limit === undefined) return
    // Of equal names the last one's, as JSON.parse takes it.
    if (!this.#isBegun) this.#kept.set(name, new Gathered())
    this.#isBegun = true
    const kept = this.#kept.get(name) as Gathered
    kept.push(part.subarray(0, limit - kept.length))
  }

  end(): void {
    this.#isBegun = false
  }

  /** Whoever sent this has done the call: nothing about its form may make that doubtful. */
  #attempt(read: () => void): void {
    if (!this.#isReadable) return
    try {
      read()
    } catch {
      this.#isReadable = false
    }
  }
}
