/**
 * Reads the requests that a guest leaves in a relay folder, and lays the answers there. A record is a request and nothing
 * more: it goes the way of every call. It is removed before it is asked, and never asked twice.
 */

import { setTimeout as wait } from 'node:timers/promises'
import {
  type AnswerRecord,
  type GatewayRecord,
  gatewayFile,
  recordLimit,
} from '@sallyport/protocol/shim'
import { bounded, fileMs, TookTooLong } from './bounded.ts'
import type { InnerDoor } from './inner-door.ts'
import { RecordDesk } from './record-desk.ts'
import { type RelayFiles, RelayGone } from './relay-files.ts'
import { RelayWriter } from './relay-writer.ts'
import { defaultWake, Wake, type WakeTiming } from './wake.ts'

export interface RelayOptions {
  readonly files: RelayFiles
  readonly door: InnerDoor
  readonly self: () => GatewayRecord
  readonly now: () => number
  readonly report: (error: unknown) => void
  /** The folder is not there any more, or is another one: nothing more comes by it. */
  readonly gone: () => void
  readonly wake?: Partial<WakeTiming>
  /** What one file operation may take. */
  readonly fileMs?: number
}

const nameForm = /^([0-9a-f]{32})\.(req|cancel|res|\d{1,9}\.part)\.json$/
const temporaryForm = /^\.[0-9a-f]{32}\.tmp$/
/** A guest may fill its folder as it likes; more than this is not looked at. */
const listLimit = 20_000
const atOnce = 16
const runningLimit = 128
const rememberedLimit = 10_000
/** An answer that is not taken for so long is lost; its file may still be read. */
const untakenMs = 5_000
/** What nobody takes, and what belongs to nothing. */
const strayMs = 60_000
const strayLimit = 256
const shimLimit = 1_000
const failureLimit = 5
const aliveMs = 30_000
const failedPauseMs = 1_000

interface Found {
  readonly requests: string[]
  readonly cancels: string[]
  readonly others: Map<string, string>
}

export class Relay {
  readonly #options: RelayOptions
  readonly #files: RelayFiles
  readonly #desk: RecordDesk
  readonly #writer: RelayWriter
  readonly #wake: Wake
  /** Requests that were taken, whatever became of them; the oldest are forgotten. */
  readonly #taken = new Set<string>()
  /** Answers that are there whole: since when, and in which look they were written. */
  readonly #lying = new Map<string, { readonly at: number; readonly look: number }>()
  readonly #failures = new Map<string, number>()
  readonly #shims = new Set<string>()
  readonly #strays = new Map<string, number>()
  /** When something of a running request was last written. */
  readonly #heard = new Map<string, number>()
  #look = 0
  #isStopped = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: RelayOptions) {
    const { files, door, now } = options
    this.#options = options
    this.#files = files
    this.#wake = new Wake(files, { ...defaultWake, ...options.wake })
    this.#writer = new RelayWriter(
      (name, bytes) => this.#bounded(files.publish(name, bytes)),
      (id, isLast) => isLast && this.#lying.set(id, { at: now(), look: this.#look }),
      (id, error) => {
        options.report(error)
        void this.#desk.cancel(id)
      },
    )
    this.#desk = new RecordDesk({
      door,
      now,
      limit: () => recordLimit,
      carry: (id, answer, isLast) => this.#carry(id, answer, isLast),
    })
  }

  /** Rejects when it cannot even say that it is there. */
  async start(): Promise<void> {
    await this.#present()
    this.#running = this.#run()
  }

  /** Reads no more. `end`: also removes the folder; else a later gateway goes on with it. */
  async stop(how?: 'end'): Promise<void> {
    this.#isStopped = true
    this.#wake.stop()
    await this.#running
    await this.#desk.leave()
    await this.#bounded(this.#files.close(how)).catch(this.#options.report)
  }

  #bounded<T>(work: Promise<T>): Promise<T> {
    return bounded(work, this.#options.fileMs ?? fileMs)
  }

  #carry(id: string, answer: AnswerRecord, isLast: boolean): void {
    this.#heard.set(id, this.#options.now())
    if (isLast) this.#heard.delete(id)
    this.#writer.carry(id, answer, isLast)
  }

  #present(): Promise<void> {
    const text = `${JSON.stringify(this.#options.self())}\n`
    return this.#bounded(this.#files.publish(gatewayFile, Buffer.from(text)))
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const found = await this.#lookOnce()
        if (this.#isStopped) return
        await this.#wake.next(found)
      } catch (error) {
        if (this.#isStopped) return
        this.#options.report(error)
        if (error instanceof RelayGone) {
          this.#isStopped = true
          this.#wake.stop()
          void this.#desk.leave()
          this.#options.gone()
          return
        }
        await wait(failedPauseMs)
      }
    }
  }

  /** Whether there was something to do. */
  async #lookOnce(): Promise<boolean> {
    const look = this.#look
    this.#look++
    const names = await this.#bounded(this.#files.list(listLimit))
    const found = sorted(names)
    if (!names.includes(gatewayFile)) await this.#present()
    await this.#settleAnswers(look, new Set(names))
    for (const id of found.cancels) await this.#cancel(id)
    const requests = found.requests.filter((id) => !this.#taken.has(id))
    const room = runningLimit - this.#desk.running
    const now = requests.slice(0, Math.max(0, Math.min(room, atOnce)))
    await Promise.all(now.map((id) => this.#take(id)))
    await this.#sweep(found.others)
    this.#showAlive()
    if (requests.length > now.length && room > 0) this.#wake.now()
    return now.length > 0 || found.cancels.length > 0
  }

  /** A provider that is busy is asked again a few times; one that hangs is not waited for twice. */
  async #take(id: string): Promise<void> {
    this.#remember(id)
    try {
      await this.#takeOnce(id)
      this.#failures.delete(id)
    } catch (error) {
      const failures = (this.#failures.get(id) ?? 0) + 1
      const isGivenUp = error instanceof TookTooLong || failures >= failureLimit
      if (isGivenUp) this.#failures.delete(id)
      else this.#failures.set(id, failures)
      if (!isGivenUp) this.#taken.delete(id)
      this.#options.report(error)
    }
  }

  async #takeOnce(id: string): Promise<void> {
    const name = `${id}.req.json`
    const bytes = await this.#bounded(this.#files.read(name, recordLimit))
    // Not removed is not asked: it would be there again for whoever comes after us.
    if (bytes === 'gone' || !(await this.#bounded(this.#files.remove(name)))) return
    if (typeof bytes === 'string') {
      this.#desk.refuse(id, bytes === 'too_large' ? 'too_large' : 'bad_record')
    } else {
      const value = parsed(bytes)
      await this.#welcome(value)
      this.#heard.set(id, this.#options.now())
      this.#desk.take(id, value)
    }
  }

  /** A harness starts another shim when it has ended one: what that did not take, it never will. */
  async #welcome(value: { readonly shim?: unknown } | undefined): Promise<void> {
    const shim = typeof value?.shim === 'string' ? value.shim : ''
    if (this.#shims.has(shim)) return
    if (this.#shims.size >= shimLimit) this.#shims.clear()
    this.#shims.add(shim)
    for (const id of [...this.#lying.keys()])
      if (this.#desk.answered.get(id)?.shim !== shim) await this.#desk.cancel(id)
  }

  #remember(id: string): void {
    this.#taken.add(id)
    for (const oldest of this.#taken) {
      if (this.#taken.size <= rememberedLimit) return
      this.#taken.delete(oldest)
    }
  }

  /** Also of a request that is still to come: it is then never asked. */
  async #cancel(id: string): Promise<void> {
    await this.#bounded(this.#files.remove(`${id}.cancel.json`))
    await this.#bounded(this.#files.remove(`${id}.req.json`))
    this.#remember(id)
    this.#writer.drop(id)
    this.#heard.delete(id)
    await this.#desk.cancel(id)
  }

  /** Taken is what is not there any more. A shim that lives takes its answer at once; one that does not is dead, or hangs. */
  async #settleAnswers(look: number, names: ReadonlySet<string>): Promise<void> {
    const now = this.#options.now()
    for (const [id, lying] of this.#lying) {
      // Written after the listing began, it may not be in it.
      if (lying.look > look) continue
      const name = `${id}.res.json`
      const isOld = now - lying.at >= strayMs
      if (!names.has(name)) this.#desk.taken(id)
      else if (now - lying.at >= untakenMs) await this.#desk.cancel(id)
      if (names.has(name) && !isOld) continue
      this.#lying.delete(id)
      if (isOld) await this.#bounded(this.#files.remove(name))
    }
  }

  /** What belongs to no request of now is removed after a while, some at a time. */
  async #sweep(others: ReadonlyMap<string, string>): Promise<void> {
    const now = this.#options.now()
    for (const name of this.#strays.keys()) if (!others.has(name)) this.#strays.delete(name)
    const due: string[] = []
    for (const [name, id] of others) {
      if (this.#lying.has(id) || this.#heard.has(id)) continue
      const since = this.#strays.get(name)
      if (since === undefined) this.#strays.set(name, now)
      else if (now - since >= strayMs && due.length < strayLimit) due.push(name)
    }
    for (const name of due) {
      this.#strays.delete(name)
      await this.#bounded(this.#files.remove(name))
    }
  }

  /** An empty part: whoever waits learns that it is worth it. */
  #showAlive(): void {
    const now = this.#options.now()
    for (const [id, at] of this.#heard) if (now - at >= aliveMs) this.#carry(id, stillHere, false)
  }
}

const stillHere: AnswerRecord = { v: 1, status: 0, headers: {}, messages: [] }

function sorted(names: readonly string[]): Found {
  const found: Found = { requests: [], cancels: [], others: new Map() }
  for (const name of names) {
    const [, id, kind] = nameForm.exec(name) ?? []
    if (id === undefined) {
      if (temporaryForm.test(name)) found.others.set(name, '')
    } else if (kind === 'req') found.requests.push(id)
    else if (kind === 'cancel') found.cancels.push(id)
    else found.others.set(name, id)
  }
  return found
}

function parsed(bytes: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
