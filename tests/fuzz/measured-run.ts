/** What a run costs: the time it takes, the most memory of its process, and what stays of it. */
import { setTimeout as wait } from 'node:timers/promises'
import { settledHeap } from './settled-heap.ts'

/** Sockets that are being closed, and answers that nobody waits for any more, hold theirs for some seconds. */
const goesWithinMs = 20_000
const lookEveryMs = 500
const kibibyte = 1024

export class MeasuredRun {
  readonly #before: number
  readonly #from = performance.now()

  private constructor(before: number) {
    this.#before = before
  }

  static async begin(): Promise<MeasuredRun> {
    return new MeasuredRun(await settledHeap())
  }

  /** Prints the figures behind `what`. Resolves with the bytes that stay: below `limit`, or those of the last look. */
  async end(what: string, limit: number): Promise<number> {
    const took = performance.now() - this.#from
    const until = performance.now() + goesWithinMs
    let stays = (await settledHeap()) - this.#before
    while (stays >= limit && performance.now() < until) {
      await wait(lookEveryMs)
      stays = (await settledHeap()) - this.#before
    }
    const most = process.resourceUsage().maxRSS * kibibyte
    const memory = `${inMebibytes(stays)} MiB stay, ${inMebibytes(most)} MiB at most`
    process.stdout.write(`${what}; ${(took / 1_000).toFixed(0)} s, ${memory}\n`)
    return stays
  }
}

const inMebibytes = (bytes: number): string => (bytes / kibibyte / kibibyte).toFixed(1)
