/**
 * A gateway that is told frames no worker of ours would send, by somebody with a worker's certificate: it goes on, every
 * call ends, none ends with what was said of another one, and nothing of it stays in memory.
 */
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import type { CallOutcome } from '@sallyport/core'
import { digestBytes } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { type Random, randomFrom } from '../system/random.ts'
import { isRepeated, seedsFor } from './corpus.ts'
import { GatewaySide } from './gateway-side.ts'
import { pieces } from './hostile-bytes.ts'
import { framesIn, hostileRow, type Said } from './hostile-frames.ts'
import { HostileWorker, type Order } from './hostile-worker.ts'
import { MeasuredRun } from './measured-run.ts'
import { sampleFrames } from './sample-frames.ts'
import { nonceForm } from './worker-rows.ts'

const staysBelow = 16 * 1024 * 1024

const lanes = 4
const hangMs = 30_000

interface Report {
  readonly failures: string[]
  changed: number
  /** Calls that ended with an answer, and with a code. */
  answered: number
  refused: number
}

/** Arguments of every call. A bit that was turned in one does not make it another. */
const issued = new Set<string>()

/** What a worker says of one order, with much beside it. */
function saidOf(random: Random, { id: intent, text }: Order): Said[] {
  const raw = Buffer.from(JSON.stringify({ content: [{ type: 'text', text }] }))
  const none = Buffer.alloc(0)
  const head = {
    intent,
    verdict: 'result',
    digest: digestBytes(raw),
    bytes: raw.length,
    status: 200,
  }
  const failed = { intent, verdict: 'not_sent', code: 'upstream_unreachable' }
  const beside: Said[] = [
    { kind: 'progress', head: { intent, progress: 1, total: 2, message: text }, raw: none },
    { kind: 'recovered', head: { intent, instance: 'worker-1', state: 'running' }, raw: none },
    { kind: 'late', head, raw: none },
    ...sampleFrames.filter(({ kind }) => kind !== 'hello' && kind !== 'pong'),
  ]
  const end: Said =
    random.below(8) === 0
      ? { kind: 'result', head: failed, raw: none }
      : { kind: 'result', head, raw }
  return [...beside.filter(() => random.below(6) === 0), end]
}

class Lane {
  readonly #report: Report
  readonly #worker: HostileWorker
  readonly #side: GatewaySide

  private constructor(worker: HostileWorker, side: GatewaySide, report: Report) {
    this.#worker = worker
    this.#side = side
    this.#report = report
  }

  static async run(seeds: number[], report: Report): Promise<void> {
    const worker = await HostileWorker.start()
    const side = await GatewaySide.start(worker.path)
    const lane = new Lane(worker, side, report)
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      const problem = await lane.#once(seed)
      if (problem !== undefined) report.failures.push(`seed ${seed}: ${problem}`)
      lane.#tellInside(`seed ${seed}`)
    }
    await side.stop()
    lane.#tellInside('after its last row')
    await worker.stop()
  }

  /** What was told inside up to now: by this row, or by one just before it. */
  #tellInside(when: string): void {
    const told = this.#side.reported.splice(0)
    if (told.length === 0) return
    this.#report.failures.push(`${when}: inside: ${inspect(told[0])}`)
  }

  async #once(seed: number): Promise<string | undefined> {
    const random = randomFrom(seed)
    await this.#side.up()
    /** What frames that name an id have said. */
    const saidFor = new Map<string, string[]>()
    const nonceOf = new Map<string, string>()
    const isSaid = Promise.withResolvers<void>()
    this.#worker.answer = (orders) => {
      isSaid.resolve()
      for (const { id, text } of orders) nonceOf.set(text, id)
      const said = orders.flatMap((order) => saidOf(random, order))
      // No id of another order: who says the answer of one for another is believed, and is no peer of ours.
      const { bytes, changed } = hostileRow(random, said, ['worker-1', 'con_1'])
      this.#report.changed += changed
      for (const { head, raw } of framesIn(bytes).frames) {
        const { intent } = (head ?? {}) as { readonly intent?: unknown }
        if (typeof intent !== 'string') continue
        saidFor.set(intent, [...(saidFor.get(intent) ?? []), raw.toString()])
      }
      return pieces(random, bytes)
    }
    const texts = Array.from({ length: 1 + random.below(4) }, () =>
      JSON.stringify({ nonce: `nonce-${randomBytes(12).toString('hex')}` }),
    )
    for (const text of texts) issued.add(text)
    const calls = texts.map((text) => this.#side.call(text))
    const all = Promise.all(calls)
    await within(Promise.race([all, isSaid.promise]), hangMs)
    // What nobody answers waits for the worker to be gone.
    if (!(await within(all, 40))) this.#worker.cut()
    if (!(await within(all, hangMs))) return 'a call does not end'
    for (const [index, outcome] of (await all).entries()) {
      const text = texts[index] as string
      const problem = this.#judge(text, outcome, saidFor.get(nonceOf.get(text) ?? '') ?? [])
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #judge(text: string, outcome: CallOutcome, said: readonly string[]): string | undefined {
    if (outcome.kind !== 'result') {
      this.#report.refused++
      return outcome.kind === 'failure' ? undefined : outcome.kind
    }
    const answer = outcome.result.toString()
    if (answer.includes(text.slice(1, -1).replaceAll('"', '\\"'))) this.#report.answered++
    if (!said.includes(answer))
      return `${text} got what was not said of it: ${answer.slice(0, 200)}`
    const nonces = (answer.match(nonceForm) ?? []).map((nonce) => JSON.stringify({ nonce }))
    const stranger = nonces.find((one) => one !== text && issued.has(one))
    return stranger && `${text} got ${stranger}`
  }
}

async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  const isDone = await Promise.race([work.then(() => true), late])
  clearTimeout(timer)
  return isDone
}

async function run(seeds: readonly number[]): Promise<Report> {
  const report: Report = { failures: [], changed: 0, answered: 0, refused: 0 }
  const waiting = [...seeds]
  await Promise.all(Array.from({ length: lanes }, () => Lane.run(waiting, report)))
  return report
}

test('a gateway outlives every frame, ends every call, and tells each only what was said of it', {
  timeout: 3_600_000,
}, async () => {
  const seeds = seedsFor('gateway', 250, 12_000)
  await run([1, 2, 3, 4, 5, 6, 7, 8])
  const measured = await MeasuredRun.begin()
  const { failures, changed, answered, refused } = await run(seeds)
  const stays = await measured.end(
    `gateway: ${changed} changed frames in ${seeds.length} rows`,
    staysBelow,
  )
  expect(failures.slice(0, 10)).toEqual([])
  if (!isRepeated) {
    expect(answered).toBeGreaterThan(seeds.length / 20)
    expect(refused).toBeGreaterThan(seeds.length / 20)
    expect(changed).toBeGreaterThan(seeds.length)
  }
  expect(stays).toBeLessThan(staysBelow)
})
