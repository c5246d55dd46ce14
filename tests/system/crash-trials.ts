/** Kills at random moments of a stream of reads and writes, and what must be true of every call afterwards. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { killAndProveGone } from '../harness/processes.ts'
import type { Sallyport } from '../harness/start-sallyport.ts'
import type { CountedUpstream } from './counted-upstream.ts'
import { eventually } from './eventually.ts'
import { argumentsDigest, type Row, untilSettled } from './journal.ts'
import type { Random } from './random.ts'
import { type CallAnswer, type Era, RawGuest } from './raw-guest.ts'

export interface Lane {
  readonly sallyport: Sallyport
  readonly upstream: CountedUpstream
  readonly profile: string
  readonly random: Random
  /** How long rows may stay open after the last restart. */
  readonly settleMs: number
}

/** What is killed: while it serves, once more while it starts, the worker alone, both. */
export type Kill = 'gateway' | 'start' | 'worker' | 'both'

interface Call {
  readonly tool: 'look' | 'store'
  readonly given: { readonly id: string; readonly ms: number }
  /** `cut off` when no answer came. */
  answer: CallAnswer | 'cut off'
}

interface Trial {
  readonly session: string
  readonly kill: Kill
  readonly calls: readonly Call[]
}

export interface Tally {
  calls: number
  cutOff: number
  /** Calls whose answer nobody got and whose row says that they succeeded. */
  recovered: number
}

const callers = 6
const slowestMs = 60
const killWithinMs = 300
const startMs = 1_000

export async function runTrials(lane: Lane, kills: readonly Kill[]): Promise<Tally> {
  const trials: Trial[] = []
  for (const kill of kills) {
    // A worker that dies takes with it what it still knows of earlier trials.
    if (endsWorker(kill)) await settleAll(lane, trials)
    trials.push(await runTrial(lane, kill))
  }
  const tally = { calls: 0, cutOff: 0, recovered: 0 }
  for (const trial of trials) {
    const rows = await untilSettled(lane.sallyport, trial.session, lane.settleMs)
    checkTrial(trial, rows, lane.upstream, tally)
  }
  return tally
}

const endsWorker = (kill: Kill): boolean => kill === 'worker' || kill === 'both'

async function settleAll({ sallyport, settleMs }: Lane, trials: readonly Trial[]): Promise<void> {
  for (const { session } of trials) await untilSettled(sallyport, session, settleMs)
}

async function runTrial(lane: Lane, kill: Kill): Promise<Trial> {
  const { sallyport, profile, random } = lane
  const { id, token } = await sallyport.api('session.create', {}, { profile })
  const era: Era = random.pick(['legacy', 'modern'])
  const endpoint = `${sallyport.guestUrl}/mcp/counted`
  const traffic = new Traffic(new RawGuest({ endpoint, token, era }), random)
  // Some die before the first answer, most while calls flow.
  if (random.below(4) > 0) await traffic.flowing
  await sleep(random.below(killWithinMs))
  await strike(lane, kill)
  await traffic.end()
  return { session: id, kill, calls: traffic.calls }
}

async function strike({ sallyport, random }: Lane, kill: Kill): Promise<void> {
  const worker = sallyport.workerPid() as number
  if (kill === 'worker') {
    await killAndProveGone(worker)
    const next = async () => (await sallyport.api('status.show')).worker
    const isUp = eventually(next, ({ state, pid }) => state === 'up' && pid !== worker, 20_000)
    await isUp.catch((cause) => {
      throw new Error(`no worker\n${sallyport.output().slice(-5_000)}`, { cause })
    })
    return
  }
  await sallyport.kill()
  if (kill === 'both') await killAndProveGone(worker)
  if (kill === 'start') await sallyport.killStarting(random.below(startMs))
  await sallyport.restart()
}

/** Callers that call one after the other until they are told to end or cannot reach anybody. */
class Traffic {
  readonly calls: Call[] = []
  readonly #guest: RawGuest
  readonly #random: Random
  readonly #callers: Promise<void>[]
  /** The first answer has come, or nobody calls any more. */
  readonly flowing: Promise<void>
  #onAnswer = (): void => {}
  #isEnding = false

  constructor(guest: RawGuest, random: Random) {
    this.#guest = guest
    this.#random = random
    const answered = new Promise<void>((resolve) => {
      this.#onAnswer = resolve
    })
    this.#callers = Array.from({ length: callers }, () => this.#run())
    this.flowing = Promise.race([answered, Promise.all(this.#callers).then(() => {})])
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await Promise.all(this.#callers)
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      const call = this.#next()
      this.calls.push(call)
      try {
        call.answer = await this.#guest.call(call.tool, JSON.stringify(call.given))
      } catch {
        return
      }
      this.#onAnswer()
      if (call.answer.isError) await sleep(slowestMs)
    }
  }

  #next(): Call {
    const id = `${this.#random.seed}-${this.#random.below(2 ** 32)}`
    const ms = this.#random.below(slowestMs)
    return { tool: this.#random.pick(['look', 'store']), given: { id, ms }, answer: 'cut off' }
  }
}

function checkTrial(
  { kill, calls }: Trial,
  rows: readonly Row[],
  upstream: CountedUpstream,
  tally: Tally,
): void {
  const hasWorkerDied = endsWorker(kill)
  const byDigest = new Map(rows.map((row) => [`${row.tool} ${row.argumentsDigest}`, row]))
  expect(byDigest.size, 'rows with the same arguments').toBe(rows.length)
  for (const call of calls) {
    const row = byDigest.get(`${call.tool} ${argumentsDigest(call.given)}`)
    const effects = call.tool === 'store' ? upstream.effects(call.given.id) : undefined
    const told = `${kill}: ${JSON.stringify({ ...call, effects, row })}`
    expect(possibleStates(effects, hasWorkerDied), told).toContain(row?.state)
    checkAnswer(call, row, kill, told)
    const { finishedAt, notAfter } = row ?? {}
    if (notAfter)
      expect(Date.parse(finishedAt ?? ''), told).toBeLessThan(Date.parse(notAfter) + 10_000)
    tally.calls++
    if (call.answer !== 'cut off') continue
    tally.cutOff++
    if (row?.state === 'succeeded') tally.recovered++
  }
}

/** Undefined: no row. `effects` is undefined for a read, of which the upstream keeps no count. */
function possibleStates(effects: number | undefined, hasWorkerDied: boolean): unknown[] {
  const never = [undefined, 'not_sent', ...(hasWorkerDied ? ['refused'] : [])]
  switch (effects) {
    case undefined:
      return [...never, 'succeeded', ...(hasWorkerDied ? ['lost'] : [])]
    case 0:
      return [...never, ...(hasWorkerDied ? ['unknown'] : [])]
    case 1:
      return ['succeeded', ...(hasWorkerDied ? ['unknown'] : [])]
    default:
      return []
  }
}

/**
 * What the guest was told is what the journal says. An answer leaves before its outcome is recorded, because the worker
 * keeps the result until then: only when both die in that moment does the journal know less than the guest.
 */
function checkAnswer({ answer }: Call, row: Row | undefined, kill: Kill, told: string): void {
  if (answer === 'cut off') return
  const known = answer.isError ? answer.failure?.code : null
  expect(kill === 'both' ? [known, 'outcome_unknown', 'outcome_lost'] : [known], told).toContain(
    row?.code,
  )
}
