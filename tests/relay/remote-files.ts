/**
 * A relay folder behind a provider's file API: everything takes a while, requests are counted, and nothing tells of
 * changes. The sandbox has the folder itself.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { LocalFiles } from '../../apps/gateway/src/relay/local-files.ts'
import type { RelayFiles } from '../../apps/gateway/src/relay/relay-files.ts'

export interface RemoteOptions {
  readonly latencyMs: number
  /** What is over it is refused, as providers do. */
  readonly perMinute: number
}

class RateLimited extends Error {}

export class RemoteFiles implements RelayFiles {
  readonly pauseMs = 100
  asked = 0
  refused = 0
  readonly #local: LocalFiles
  readonly #options: RemoteOptions
  readonly #recent: number[] = []

  constructor(local: LocalFiles, options: RemoteOptions) {
    this.#local = local
    this.#options = options
  }

  list(limit: number): ReturnType<RelayFiles['list']> {
    return this.#request(() => this.#local.list(limit))
  }

  read(name: string, limit: number): ReturnType<RelayFiles['read']> {
    return this.#request(() => this.#local.read(name, limit))
  }

  publish(name: string, bytes: Buffer): Promise<void> {
    return this.#request(() => this.#local.publish(name, bytes))
  }

  remove(name: string): Promise<boolean> {
    return this.#request(() => this.#local.remove(name))
  }

  close(how?: 'end'): Promise<void> {
    return this.#local.close(how)
  }

  /** The minute is over. */
  forgive(): void {
    this.#recent.length = 0
  }

  async #request<T>(work: () => Promise<T>): Promise<T> {
    this.asked++
    const now = performance.now()
    while (this.#recent[0] !== undefined && this.#recent[0] < now - 60_000) this.#recent.shift()
    await wait(this.#options.latencyMs)
    if (this.#recent.length >= this.#options.perMinute) {
      this.refused++
      throw new RateLimited('429')
    }
    this.#recent.push(now)
    return work()
  }
}
