/**
 * A worker whose upstreams answer with bytes that no server of good will sends, in both eras: it goes on, every order ends
 * in time, no call gets the words of another one, and nothing of it stays in memory.
 */
import { randomBytes } from 'node:crypto'
import type { Listing, ProgressHead, ResultHead } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import {
  type ScriptedGateway,
  type SealedConnection,
  sealForTest,
} from '../../apps/worker/src/testing/scripted-gateway.ts'
import { WorkerUnderTest } from '../../apps/worker/src/testing/worker-under-test.ts'
import { randomFrom } from '../system/random.ts'
import { startUpstream } from '../upstreams/scripted-upstream.ts'
import { isRepeated, seedsFor } from './corpus.ts'
import { type Asked, HostileServer } from './hostile-server.ts'
import { MeasuredRun } from './measured-run.ts'
import { answerBy, type Era, isStream, type Script } from './upstream-script.ts'
import { nonceForm } from './worker-rows.ts'

const staysBelow = 16 * 1024 * 1024

const callMs = 2_000
const endsWithinMs = 60_000
const limits = { resultBytes: 100_000, callMs, verifyWithinMs: 3_600_000 }

/** Where results are cut: the mark and a little more. */
const shortBytes = 1_100
const pad = '\\ é"\u0000\u{1f600}'.repeat(100)

interface Report {
  readonly failures: string[]
  readonly verdicts: Record<string, number>
  own: number
  healthy: number
}

interface Place {
  readonly era: Era
  readonly connection: SealedConnection
  readonly toolDigest: string
}

class Siege {
  readonly report: Report = { failures: [], verdicts: {}, own: 0, healthy: 0 }
  readonly #issued = new Set<string>()
  /** Seeds of the calls under way, by their words. */
  readonly #seeds = new Map<string, number>()
  readonly #worker: WorkerUnderTest
  readonly #servers: HostileServer[] = []
  #isOver = false

  constructor(worker: WorkerUnderTest) {
    this.#worker = worker
  }

  async calls(seeds: readonly number[], lanes: number): Promise<Report> {
    const places = [await this.#place('modern'), await this.#place('legacy')]
    await this.#all(seeds, lanes, (seed, gateway) =>
      this.#call(seed, gateway, places[seed % 2] as Place),
    )
    return this.report
  }

  async listings(seeds: readonly number[], lanes: number): Promise<Report> {
    await this.#all(seeds, lanes, (seed, gateway) => this.#list(seed, gateway))
    return this.report
  }

  async #all(
    seeds: readonly number[],
    lanes: number,
    once: (seed: number, gateway: ScriptedGateway) => Promise<string | undefined>,
  ): Promise<void> {
    const waiting = [...seeds]
    const healthy = this.#stayHealthy()
    const lane = async (): Promise<void> => {
      const gateway = await this.#worker.gateway()
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        const problem = await Promise.race([once(seed, gateway), late()])
        if (problem !== undefined) this.report.failures.push(`seed ${seed}: ${problem}`)
        gateway.frames.length = 1
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    this.#isOver = true
    await healthy
    for (const server of this.#servers) await server.close()
  }

  async #place(era: Era): Promise<Place> {
    const script: Script = {
      era,
      foreign: [],
      stalls: true,
      randomFor: ({ method, params }: Asked) => {
        const { nonce } = (params['arguments'] ?? {}) as { readonly nonce?: string }
        const seed = this.#seeds.get(nonce ?? '')
        return method === 'tools/call' && seed !== undefined ? randomFrom(seed) : undefined
      },
    }
    const server = await HostileServer.start((asked) => answerBy(script, asked))
    this.#servers.push(server)
    const connection = sealForTest({ url: server.url, key: this.#worker.key })
    const gateway = await this.#worker.gateway()
    const { head, raw } = await gateway.order({ connection })
    if (head.verdict !== 'result') throw new Error(`not listed: ${head.code}`)
    const [listed] = (JSON.parse(raw.toString()) as Listing).tools
    return { era, connection, toolDigest: listed?.digest ?? '' }
  }

  async #call(
    seed: number,
    gateway: ScriptedGateway,
    { connection, toolDigest }: Place,
  ): Promise<string | undefined> {
    const nonce = `nonce-${randomBytes(12).toString('hex')}`
    this.#seeds.set(nonce, seed)
    this.#issued.add(nonce)
    const access = seed % 3 === 0 ? 'write' : 'read'
    const isShort = seed % 5 < 2
    const claims = {
      limits: isShort ? { ...limits, resultBytes: shortBytes } : limits,
      access,
      progress: true,
      cut: isShort,
    }
    const words = isShort ? { nonce, pad } : { nonce }
    const order = { connection, tool: 'echo', toolDigest, arguments: words, claims }
    const { id } = gateway.submit(order)
    const { head, raw } = await gateway.result(id)
    this.#seeds.delete(nonce)
    this.#count(head)
    const said = raw.toString()
    if (said.includes(nonce)) this.report.own++
    const progress = gateway.progress(id)
    return (
      this.#strangerIn(nonce, said + JSON.stringify(progress)) ??
      problemOf(head, raw) ??
      (progress.every(isProgress) ? undefined : 'progress that is none')
    )
  }

  /** A server of its own for each, one of whose answers is wrong. */
  async #list(seed: number, gateway: ScriptedGateway): Promise<string | undefined> {
    const random = randomFrom(seed)
    const era = random.pick(['modern', 'legacy'] as const)
    const first = era === 'modern' ? 'server/discover' : 'initialize'
    const wrong = random.pick([first, 'tools/list', 'stream'])
    const randomFor = (asked: Asked) =>
      (isStream(asked) ? 'stream' : asked.method) === wrong ? random : undefined
    const script = { era, foreign: [], stalls: false, randomFor }
    const server = await HostileServer.start((asked) => answerBy(script, asked))
    try {
      const connection = sealForTest({ url: server.url, key: this.#worker.key })
      const { head, raw } = await gateway.order({ connection })
      this.#count(head)
      gateway.send('release', { connectionId: connection.claims.connectionId })
      return problemOf(head, raw) ?? (head.verdict === 'result' ? strangeListing(raw) : undefined)
    } finally {
      await server.close()
    }
  }

  async #stayHealthy(): Promise<void> {
    const upstream = await startUpstream()
    const gateway = await this.#worker.gateway()
    const connection = sealForTest({ url: upstream.url, key: this.#worker.key })
    const listing = await gateway.order({ connection })
    const { tools } = JSON.parse(listing.raw.toString()) as Listing
    const toolDigest = tools.find(({ name }) => name === 'echo')?.digest as string
    while (!this.#isOver) {
      const nonce = randomBytes(12).toString('hex')
      const order = { connection, tool: 'echo', toolDigest, arguments: { nonce } }
      const { head, raw } = await gateway.order(order)
      if (head.verdict !== 'result' || !raw.toString().includes(nonce))
        this.report.failures.push(`a healthy call: ${head.code}`)
      gateway.frames.length = 1
      this.report.healthy++
      // Beside the others, not instead of them.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await upstream.close()
  }

  /** The words of another call; a bit that was turned in its own does not make it another. */
  #strangerIn(nonce: string, said: string): string | undefined {
    const words = said.match(nonceForm) ?? []
    const stranger = words.find((one) => one !== nonce && this.#issued.has(one))
    return stranger && `${nonce} got ${stranger}`
  }

  #count({ verdict, code, isCut = false }: ResultHead): void {
    const key = code === undefined ? `${verdict}${isCut ? ' cut' : ''}` : `${verdict} ${code}`
    this.report.verdicts[key] = (this.report.verdicts[key] ?? 0) + 1
  }
}

const late = () =>
  new Promise<string>((resolve) => setTimeout(() => resolve('does not end'), endsWithinMs).unref())

/** A result without a code is an object; every other end has a code. */
function problemOf(head: ResultHead, raw: Buffer): string | undefined {
  if (head.code !== undefined) return head.code === 'internal' ? 'internal' : undefined
  if (head.verdict !== 'result') return `${head.verdict} without a code`
  try {
    const value: unknown = JSON.parse(raw.toString())
    return typeof value === 'object' && value !== null ? undefined : 'a result that is no object'
  } catch {
    return 'a result that is no JSON'
  }
}

function strangeListing(raw: Buffer): string | undefined {
  const { tools, protocolVersion, capabilities } = JSON.parse(raw.toString()) as Listing
  const isTold =
    typeof protocolVersion === 'string' && capabilities.every((one) => typeof one === 'string')
  const isFine = tools.every(({ name, inputSchema }) => typeof name === 'string' && inputSchema)
  return isTold && isFine ? undefined : 'a listing that is none'
}

const isProgress = ({ progress, total = 0 }: ProgressHead): boolean =>
  Number.isFinite(progress) && Number.isFinite(total)

async function besiege(work: (siege: Siege) => Promise<Report>): Promise<Report> {
  const worker = await new WorkerUnderTest().start()
  try {
    return await work(new Siege(worker))
  } finally {
    await worker.stop()
  }
}

const manySeeds = (count: number) => Array.from({ length: count }, (_, index) => 1 + index)

test('whatever a call is answered with, it ends with its own words or a code', {
  timeout: 3_600_000,
}, async () => {
  const seeds = seedsFor('answers', 500, 40_000)
  await besiege((siege) => siege.calls(manySeeds(64), 8))
  const run = await MeasuredRun.begin()
  const { failures, verdicts, own, healthy } = await besiege((siege) => siege.calls(seeds, 24))
  const stays = await run.end(`answers: ${seeds.length} ${JSON.stringify(verdicts)}`, staysBelow)
  expect(failures.slice(0, 10)).toEqual([])
  if (!isRepeated) {
    expect(own).toBeGreaterThan(seeds.length / 20)
    expect(verdicts['result cut']).toBeGreaterThan(seeds.length / 20)
    expect(Object.keys(verdicts).length).toBeGreaterThan(6)
    expect(healthy).toBeGreaterThan(10)
  }
  expect(stays).toBeLessThan(staysBelow)
})

test('whatever a server says of itself and its tools, it is a listing or a code', {
  timeout: 3_600_000,
}, async () => {
  const seeds = seedsFor('listings', 30, 2_000)
  await besiege((siege) => siege.listings(manySeeds(16), 16))
  const run = await MeasuredRun.begin()
  const { failures, verdicts, healthy } = await besiege((siege) => siege.listings(seeds, 64))
  const stays = await run.end(`listings: ${seeds.length} ${JSON.stringify(verdicts)}`, staysBelow)
  expect(failures.slice(0, 10)).toEqual([])
  if (!isRepeated) {
    expect(verdicts['result']).toBeGreaterThan(seeds.length / 10)
    expect(Object.keys(verdicts).length).toBeGreaterThan(3)
    expect(healthy).toBeGreaterThan(10)
  }
  expect(stays).toBeLessThan(staysBelow)
})
