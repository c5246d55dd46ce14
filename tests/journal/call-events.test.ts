/** What the way of a call tells the journal, and that the rows say the same. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aTool } from '../../packages/core/src/call/samples.ts'
import { sampleSigner } from '../../packages/protocol/src/journal/sample-journal.ts'
import { openWorld, type World, workerDown, writeTool } from '../call/call-world.ts'
import { decide, write } from '../call/held-calls.ts'
import { Auditor } from './journal-world.ts'

interface Told {
  readonly stream: string
  readonly first: number
  readonly batch?: string
  readonly events: readonly Record<string, unknown>[]
}

describe.each(['memory', 'sqlite'] as const)('on %s', (engine) => {
  let world: World
  beforeEach(async () => {
    world = await openWorld(engine)
  })
  afterEach(() => world.close())

  async function pages(): Promise<Told[]> {
    await world.group.drained()
    const kept = await world.store.journal.pages(0, Number.MAX_SAFE_INTEGER, 1_000)
    return kept.map(({ text }) => JSON.parse(text))
  }
  const events = async () => (await pages()).flatMap(({ events }) => events)

  /** Nothing is covered in these worlds, and all of it is young: the clocks of the store begin with 1970. */
  async function expectWhole() {
    await world.group.drained()
    const { kid, jwk } = sampleSigner()
    await world.store.transact((tx) => tx.journal.addKey({ kid, jwk, at: 0 }))
    const auditor = new Auditor(world.store, { write: async () => {}, newest: null })
    const { findings, checked } = await auditor.verify()
    expect(findings.filter(({ kind }) => kind !== 'not_covered')).toEqual([])
    expect(checked.rows).toBe((await world.rows()).length)
  }

  test('a call is told when it passes and when its outcome is recorded, by value', async () => {
    const outcome = world.call({ argumentsText: '{"n":1}', callId: 'toolu_1' })
    world.answer(await world.worker.intent(), { tookMs: 3, status: 200 })
    await outcome
    const row = await world.row()
    expect(await events()).toEqual([
      {
        kind: 'dispatching',
        at: row.barrierAt,
        execution: row.id,
        sequence: 1,
        sessionId: row.sessionId,
        ownerId: row.ownerId,
        callId: 'toolu_1',
        connectionId: row.connectionId,
        connectionName: 'counter',
        tool: 'read',
        mode: 'read',
        bindingHash: row.bindingHash,
        argumentsDigest: row.argumentsDigest,
        intentId: row.intentId,
        intentDigest: row.intentDigest,
      },
      {
        kind: 'succeeded',
        at: row.finishedAt,
        execution: row.id,
        sequence: 2,
        code: null,
        resultDigest: row.resultDigest,
        resultBytes: row.resultBytes,
        notes: { status: 200 },
      },
    ])
    expect(JSON.stringify(await pages())).not.toContain('"n"')
    await expectWhole()
  })

  test('a page names its batch, and lists the intents in the order in which they were signed', async () => {
    void world.call()
    void world.call({ tool: aTool({ grantDigest: `sha256:${'f'.repeat(64)}` }) })
    void world.call()
    await world.worker.intent(1)
    const [page] = await pages()
    const intents = page?.events.filter(({ kind }) => kind === 'dispatching')
    expect(intents?.map(({ intentDigest }) => intentDigest)).toEqual(
      world.worker.orders.map(({ digest }) => digest),
    )
    expect(page?.events.map(({ kind }) => kind)).toEqual(['dispatching', 'refused', 'dispatching'])
    expect(page?.batch).toMatch(/^sha256:/)
    await expectWhole()
  })

  test('so it does when a call that had waited passes beside one that has just come', async () => {
    void world.call(write)
    world.worker.name = undefined
    await decide(world, 'approve')
    await world.group.drained()
    world.worker.name = 'worker-1'
    world.desk.holds.wake('all')
    void world.call()
    await world.worker.intent(1)
    const page = (await pages()).find(({ batch }) => batch !== undefined)
    const intents = page?.events.filter(({ kind }) => kind === 'dispatching')
    expect(intents?.map(({ intentDigest }) => intentDigest)).toEqual(
      world.worker.orders.map(({ digest }) => digest),
    )
    expect(intents).toHaveLength(2)
    await expectWhole()
  })

  test('refusals are told with their code, before the barrier and at it', async () => {
    const problem = { ok: false, code: 'arguments_refused', field: '/n', detail: 'x' } as const
    await world.call({ tool: aTool({}, { effective: () => problem }) })
    await world.call({ cancelled: AbortSignal.abort() })
    const write = { tool: writeTool, argumentsText: '{"by":1}' }
    void world.call(write)
    world.answer(await world.worker.intent(), { verdict: 'uncertain' })
    await world.group.drained()
    await world.call(write)
    const told = (await events()).map(({ kind, code, sequence }) => [kind, code, sequence])
    expect(told).toEqual([
      ['refused', 'arguments_refused', 1],
      ['refused', 'call_cancelled', 1],
      ['dispatching', undefined, 1],
      ['unknown', 'outcome_unknown', 2],
      ['refused', 'outcome_unknown', 1],
    ])
    await expectWhole()
  })

  test('what passed and was proved not sent is told as both, in one page', async () => {
    world.worker.failSend = workerDown()
    await world.call()
    const [page, ...more] = await pages()
    expect(more).toEqual([])
    expect(page?.batch).toBeUndefined()
    expect(page?.events.map(({ kind, sequence }) => [kind, sequence])).toEqual([
      ['dispatching', 1],
      ['not_sent', 2],
    ])
    await expectWhole()
  })

  test('a second verdict, and a call id that is recorded already, tell nothing', async () => {
    const outcome = world.call({ callId: 'same' })
    const intent = await world.worker.intent()
    world.answer(intent)
    world.answer(intent, { verdict: 'uncertain', code: 'upstream_timeout' })
    await outcome
    await world.group.drained()
    await world.another().call({ callId: 'same' })
    expect((await events()).map(({ kind }) => kind)).toEqual(['dispatching', 'succeeded'])
    await expectWhole()
  })

  test('another gateway takes over, and counts on', async () => {
    void world.call({ tool: writeTool })
    await world.worker.intent()
    const other = world.another()
    other.worker.recoverWith = () => ({ state: 'never_started' })
    await other.recovery.adopt()
    await other.recovery.round()
    await other.group.drained()
    const { id, gatewayInstance } = await other.row()
    const told = await events()
    expect(told.map(({ kind, sequence }) => [kind, sequence])).toEqual([
      ['dispatching', 1],
      ['claimed', 2],
      ['not_sent', 3],
    ])
    expect(told[1]).toMatchObject({ execution: id, gatewayInstance })
    const streams = (await pages()).map(({ stream }) => stream)
    expect(streams[0]).not.toBe(streams[1])
    await expectWhole()
  })
})
