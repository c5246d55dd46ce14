/**
 * A worker that is told frames no gateway of ours would send, by somebody with a gateway's certificate: it goes on,
 * nobody's answer reaches anybody else, nothing that was not committed is done, and nothing of it stays in memory.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Bench } from '../../apps/worker/src/testing/bench.ts'
import { sealForTest } from '../../apps/worker/src/testing/scripted-gateway.ts'
import { authority, identity } from '../../apps/worker/src/testing/worker-under-test.ts'
import { randomFrom } from '../system/random.ts'
import { startUpstream, text } from '../upstreams/scripted-upstream.ts'
import { isRepeated, seedsFor } from './corpus.ts'
import { pieces } from './hostile-bytes.ts'
import { bytesOf, changedFrame, framesIn, hostileRow } from './hostile-frames.ts'
import { HostileGateway } from './hostile-gateway.ts'
import { MeasuredRun } from './measured-run.ts'
import { composeRow, helloSaid, nonceForm, type Row, Signer } from './worker-rows.ts'

const staysBelow = 16 * 1024 * 1024

const lanes = 8
const hangMs = 30_000

interface Report {
  readonly failures: string[]
  changed: number
  /** Committed and answered: without any, the rest says nothing. */
  answered: number
  healthy: number
}

class Siege {
  readonly report: Report = { failures: [], changed: 0, answered: 0, healthy: 0 }
  /** How often the server heard each. */
  readonly #heard = new Map<string, number>()
  readonly #forbidden: string[] = []
  readonly #bench: Bench
  readonly #identity = identity('gateway')
  readonly #signer = new Signer(this.#identity)
  #connection: Bench['connection']
  #isOver = false

  private constructor(bench: Bench, heard: Map<string, number>) {
    this.#bench = bench
    this.#heard = heard
    this.#connection = sealForTest({
      url: `http://127.0.0.1:${port(bench)}/mcp`,
      key: bench.worker.key,
    })
  }

  static async run(seeds: readonly number[]): Promise<Report> {
    const heard = new Map<string, number>()
    const upstream = await startUpstream({
      tools: [
        {
          name: 'echo',
          run: ({ arguments: { nonce } }) => {
            heard.set(String(nonce), (heard.get(String(nonce)) ?? 0) + 1)
            return text(String(nonce))
          },
        },
      ],
    })
    const bench = await Bench.start({ url: upstream.url })
    try {
      await bench.review()
      return await new Siege(bench, heard).#all(seeds)
    } finally {
      await bench.stop()
      await upstream.close()
    }
  }

  async #all(seeds: readonly number[]): Promise<Report> {
    await this.#bench.review(this.#connection)
    const waiting = [...seeds]
    const healthy = this.#stayHealthy()
    const lane = async (): Promise<void> => {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        const problem = await this.#once(seed)
        if (problem !== undefined) this.report.failures.push(`seed ${seed}: ${problem}`)
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    this.#isOver = true
    await healthy
    for (const [nonce, times] of this.#heard)
      if (times > 1) this.report.failures.push(`${nonce} was sent ${times} times`)
    for (const nonce of this.#forbidden)
      if (this.#heard.has(nonce)) this.report.failures.push(`${nonce} was never committed`)
    return this.report
  }

  /** A gateway beside it calls all the time, now and then over a fresh connection to the server. */
  async #stayHealthy(): Promise<void> {
    const { gateway, connection } = this.#bench
    for (let n = 0; !this.#isOver; n++) {
      const nonce = `healthy-${n}`
      const answer = await Promise.race([this.#bench.call('echo', { nonce }), late(hangMs)])
      if (answer?.head.verdict !== 'result' || !answer.raw.toString().includes(`"${nonce}"`))
        this.report.failures.push(`${nonce}: ${answer?.head.code ?? 'no answer'}`)
      this.report.healthy++
      if (n % 50 === 49) gateway.send('release', { connectionId: connection.claims.connectionId })
      await turn()
    }
  }

  async #once(seed: number): Promise<string | undefined> {
    const random = randomFrom(seed)
    const gateway = await HostileGateway.connect({
      path: this.#bench.worker.path,
      identity: this.#identity,
      authorityPem: authority.certificatePem,
    })
    try {
      const hello = helloSaid()
      if (random.below(8) === 0) {
        this.report.changed++
        return await this.#say(gateway, pieces(random, changedFrame(random, hello, [])))
      }
      gateway.write(bytesOf(hello))
      if (!(await gateway.until(() => gateway.hello !== undefined, hangMs))) return 'no hello'
      const audience = gateway.hello?.instance ?? ''
      const toolDigest = this.#bench.digestOf('echo')
      const parts = { random, identity: this.#identity, connection: this.#connection }
      const rows = [1, 2].map(() => composeRow({ ...parts, toolDigest, audience }, this.#signer))
      const [right, wrong] = rows as [Row, Row]
      this.#forbidden.push(...rows.flatMap(({ forbidden }) => forbidden))
      const { bytes, changed } = hostileRow(random, wrong.said, [...right.pool, ...wrong.pool])
      this.report.changed += changed
      const before = right.said.map(bytesOf)
      const problem = await this.#say(gateway, [...before, ...pieces(random, bytes)])
      return problem ?? (await this.#strayed(gateway, rows))
    } finally {
      gateway.cut()
    }
  }

  /** The worker ends the connection, or reads on: then it answers a question behind everything else. */
  async #say(gateway: HostileGateway, parts: readonly Buffer[]): Promise<string | undefined> {
    for (const part of parts) {
      gateway.write(part)
      await turn()
    }
    const { end } = framesIn(Buffer.concat(parts))
    if (end === 'partial') return undefined
    gateway.write(bytesOf({ kind: 'ping', head: { n: marker }, raw: Buffer.alloc(0) }))
    const isAnswered = () => pongs(gateway).some((n) => n === marker)
    const isHeard = await gateway.until(() => gateway.isClosed || isAnswered(), hangMs)
    if (!isHeard) return 'neither answers nor ends'
    if (!pongs(gateway).every(Number.isSafeInteger)) return 'answers what is no question'
    return end === 'broken' && !gateway.isClosed ? 'reads on behind broken bytes' : undefined
  }

  /** Whose answer says what another one was asked. */
  async #strayed(gateway: HostileGateway, rows: readonly Row[]): Promise<string | undefined> {
    const nonces = new Map(rows.flatMap((row) => [...row.nonces]))
    const answers = () =>
      gateway.frames.filter(({ kind }) => kind === 'result' || kind === 'recovered')
    // What is in flight gets a moment; most has come by now.
    await gateway.until(() => gateway.isClosed || answers().length >= nonces.size, 60)
    for (const { head, raw } of answers()) {
      const { intent } = head as { readonly intent: string }
      const said = raw.toString().match(nonceForm) ?? []
      if (said.length > 0) this.report.answered++
      if (said.some((nonce) => nonce !== nonces.get(intent))) return `${intent} got ${said}`
    }
    return undefined
  }
}

const marker = 4_711
const pongs = ({ frames }: HostileGateway): unknown[] =>
  frames.flatMap(({ kind, head }) => (kind === 'pong' ? [(head as { n?: unknown } | null)?.n] : []))
const port = ({ connection }: Bench): number => connection.claims.endpointClear.port
const late = (ms: number) =>
  new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), ms).unref())

test('a worker outlives every frame, answers nobody else, and acts on nothing that was not committed', {
  timeout: 3_600_000,
}, async () => {
  const seeds = seedsFor('worker', 300, 12_000)
  await Siege.run([1, 2, 3, 4, 5, 6, 7, 8])
  const run = await MeasuredRun.begin()
  const { failures, changed, answered, healthy } = await Siege.run(seeds)
  const stays = await run.end(
    `worker: ${changed} changed frames in ${seeds.length} rows`,
    staysBelow,
  )
  expect(failures.slice(0, 10)).toEqual([])
  if (!isRepeated) {
    expect(answered).toBeGreaterThan(seeds.length / 20)
    expect(healthy).toBeGreaterThan(20)
    expect(changed).toBeGreaterThan(seeds.length)
  }
  expect(stays).toBeLessThan(staysBelow)
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})
