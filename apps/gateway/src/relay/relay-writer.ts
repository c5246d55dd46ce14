/**
 * Writes answers into the folder, each in its order. What comes while something is being written waits together: of
 * notifications only the newest of a kind, since a provider's file API may take a while for each file.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { AnswerRecord } from '@sallyport/protocol/shim'
import type { RelayFiles } from './relay-files.ts'

interface Outbox {
  part: number
  waiting: AnswerRecord | undefined
  isLast: boolean
  isWriting: boolean
}

const attempts = 3
const againMs = 150

export class RelayWriter {
  readonly #publish: RelayFiles['publish']
  readonly #written: (id: string, isLast: boolean) => void
  readonly #failed: (id: string, error: unknown) => void
  readonly #boxes = new Map<string, Outbox>()

  /** `failed`: the answer could not be written, and nothing more of it will be. */
  constructor(
    publish: RelayFiles['publish'],
    written: (id: string, isLast: boolean) => void,
    failed: (id: string, error: unknown) => void,
  ) {
    this.#publish = publish
    this.#written = written
    this.#failed = failed
  }

  carry(id: string, answer: AnswerRecord, isLast: boolean): void {
    const box = this.#boxes.get(id) ?? { part: 0, waiting: undefined, isLast, isWriting: false }
    this.#boxes.set(id, box)
    const earlier = box.waiting?.messages ?? []
    box.waiting = { ...answer, messages: newest([...earlier, ...answer.messages]) }
    box.isLast = isLast
    if (!box.isWriting) void this.#write(id, box)
  }

  /** Nobody waits for the rest. */
  drop(id: string): void {
    this.#boxes.delete(id)
  }

  async #write(id: string, box: Outbox): Promise<void> {
    box.isWriting = true
    try {
      while (box.waiting && this.#boxes.get(id) === box) {
        const { waiting, isLast } = box
        box.waiting = undefined
        const name = isLast ? `${id}.res.json` : `${id}.${box.part++}.part.json`
        await this.#insist(name, Buffer.from(JSON.stringify(waiting)))
        if (isLast) this.#boxes.delete(id)
        this.#written(id, isLast)
      }
    } catch (error) {
      this.#boxes.delete(id)
      this.#failed(id, error)
    } finally {
      box.isWriting = false
    }
  }

  async #insist(name: string, bytes: Buffer): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#publish(name, bytes)
      } catch (error) {
        if (attempt === attempts) throw error
        await wait(againMs)
      }
    }
  }
}

const notification = /^\{"jsonrpc":"2\.0","method":"([^"]+)"/

function newest(messages: readonly string[]): string[] {
  const kinds = messages.map((message) => notification.exec(message)?.[1])
  return messages.filter((_, at) => kinds[at] === undefined || !kinds.includes(kinds[at], at + 1))
}
