/** Two gateways with connections of their own to one Postgres: identical calls, decisions and outcomes at the same time. */
import { expireApprovals, resolveExecution } from '@sallyport/core'
import type { ApprovalId } from '@sallyport/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Random, seededRandom } from '../system/random.ts'
import { askTool, type World, writeTool } from './call-world.ts'
import {
  approvals,
  askHeld,
  askSent,
  decide,
  deliveryOf,
  eras,
  limited,
  pending,
  quiet,
  renew,
  rowOf,
  sent,
  unattended,
  until,
} from './held-calls.ts'
import { type PostgresWorlds, startPostgresWorlds } from './postgres-worlds.ts'

let postgres: PostgresWorlds
let one: World
let two: World
beforeAll(async () => {
  postgres = await startPostgresWorlds()
})
afterAll(() => postgres.stop())
beforeEach(async () => {
  const { world, rival } = await postgres.open()
  one = world
  two = rival
  await renew(one)
  await renew(two)
})
afterEach(async () => {
  await one.group.drained()
  await two.group.drained()
  await one.close()
  expect([...one.reported, ...two.reported]).toEqual([])
})

/** A change of the connection that is under way at the other gateway until `commit`. */
async function changing(): Promise<{ commit(): Promise<void> }> {
  const { connectionId } = writeTool.binding
  const { promise: end, resolve: release } = Promise.withResolvers<void>()
  const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>()
  const change = two.store.transact(async (tx) => {
    await tx.lockForChange({ connections: [connectionId] })
    locked()
    await end
  })
  await isLocked
  return {
    commit: async () => {
      release()
      await change
    },
  }
}

test('a call waits for the end of a change of what it depends on', async () => {
  const { commit } = await changing()
  const asked = askSent(one, unattended)
  await quiet(one)
  expect([sent(one), await one.rows()]).toEqual([0, []])
  await commit()
  await asked
  expect(sent(one)).toBe(1)
})

test('a change that takes too long is not waited for', async () => {
  const { commit } = await changing()
  const asked = one.call(unattended)
  await quiet(one)
  one.step(2_001)
  expect(await asked).toMatchObject({ kind: 'failure', code: 'authority_busy' })
  await commit()
  expect(sent(one)).toBe(0)
})

const rounds = 20
const identicalOnly = limited(writeTool, { identicalOnly: true })
const args = (n: number) => ({ argumentsText: `{"round":${n}}` })

/** From now on a worker answers by itself; `sent` hears of each order that it may act on. */
function serve(
  { worker, desk }: World,
  sent: (argumentsText: string) => () => void,
  verdict: () => object,
) {
  const send = worker.send.bind(worker)
  worker.send = (orders) => {
    const batch = send(orders)
    return {
      abort: () => batch.abort(),
      commit: (admitted) => {
        batch.commit(admitted)
        for (const at of admitted) {
          const order = orders[at]
          if (!order) continue
          const ended = sent(order.argumentsText)
          setImmediate(() => {
            ended()
            desk.onResult({ intent: order.id, verdict: 'result', ...verdict() }, Buffer.from('{}'))
          })
        }
      },
    }
  }
}

describe.each(eras)('%s', (era) => {
  test('of two identical calls at once one is on its way at a time, and both are done', async () => {
    const onTheirWay = new Set<string>()
    let together = 0
    const counted = (key: string) => {
      if (onTheirWay.has(key)) together++
      onTheirWay.add(key)
      return () => void onTheirWay.delete(key)
    }
    for (const world of [one, two]) serve(world, counted, () => ({}))
    for (let n = 0; n < rounds; n++) {
      const both = [
        one.call({ ...unattended, era, ...args(n) }),
        two.call({ ...unattended, era, ...args(n) }),
      ]
      for (const outcome of both) {
        const told = await outcome
        expect(told).toMatchObject({ kind: 'result' })
        expect(told).not.toHaveProperty('earlier')
      }
    }
    expect(together).toBe(0)
    expect(sent(one, two)).toBe(2 * rounds)
  })

  test('an outcome that was left goes to one of two that come at once', async () => {
    for (let n = 0; n < rounds; n++) {
      const first = await askSent(one, { era, ...args(n) })
      one.answer(first.intent)
      deliveryOf(await first.outcome).lost()
      await one.group.drained()
      const before = sent(one, two)
      const both = [
        one.call({ ...unattended, era, ...args(n) }),
        two.call({ ...unattended, era, ...args(n) }),
      ]
      await until(() => sent(one, two) > before)
      const at =
        sent(two) > 0 && two.worker.orders.at(-1)?.argumentsText === args(n).argumentsText
          ? two
          : one
      at.answer(await at.worker.intent(sent(at) - 1))
      const ids = (await Promise.all(both)).map(({ executionId }) => executionId)
      expect(ids.filter((id) => id === first.id)).toHaveLength(1)
      expect(sent(one, two)).toBe(before + 1)
    }
  })

  test('a cancel and an approval at once: one of them wins, and the approval is told so', async () => {
    for (let n = 0; n < rounds; n++) {
      const call = await askHeld(one, { era, ...args(n) })
      const { id, executionId } = await pending(one)
      const before = sent(one)
      const decided = decide(two, 'approve', id).then(
        () => 'approved',
        ({ code }) => code,
      )
      call.cancel()
      await decided
      await quiet(one)
      const row = await rowOf(one, executionId)
      if (row.state === 'refused') expect(sent(one)).toBe(before)
      else one.answer(await one.worker.intent(before))
      const code = row.state === 'refused' ? { code: 'call_cancelled' } : { kind: 'result' }
      expect(await call.outcome).toMatchObject(code)
      const [approval] = (await approvals(one)).filter((each) => each.id === id)
      expect(approval?.state).toBe(row.state === 'refused' ? 'cancelled' : 'consumed')
    }
  })

  test('an outcome that becomes unknown at one gateway lets nothing identical through at the other', async () => {
    for (let n = 0; n < rounds; n++) {
      const first = await askSent(one, { era, ...args(n), tool: identicalOnly })
      const second = await askHeld(two, { era, ...args(n) })
      const { id } = await pending(one)
      const before = sent(two)
      const decided = decide(two, 'approve', id).catch(() => {})
      one.answer(first.intent, { verdict: 'uncertain' })
      await decided
      await first.outcome
      await one.group.drained()
      await quiet(two)
      expect(await second.outcome).toMatchObject({ code: 'outcome_unknown', executionId: first.id })
      expect(sent(two)).toBe(before)
    }
  })

  test('expiry, decisions, takings over and barriers at once end in no deadlock', async () => {
    for (const world of [one, two])
      serve(
        world,
        () => () => {},
        () => ({}),
      )
    for (let n = 0; n < rounds / 2; n++) {
      const calls = await Promise.all(
        [0, 1, 2, 3].map((k) => askHeld(k % 2 ? two : one, { era, ...args(n * 10 + k) })),
      )
      const asked = (await approvals(one)).filter(({ state }) => state === 'pending')
      one.step(3_600_000)
      await Promise.all([renew(one), renew(two)])
      await Promise.allSettled([
        expireApprovals(one, one.now()),
        expireApprovals(two, two.now()),
        ...asked.map(({ id }, k) => decide(k % 2 ? one : two, k % 3 ? 'approve' : 'deny', id)),
        ...calls.map(({ leave }) => leave()),
      ])
      await quiet(one, two)
      expect(await one.store.approvals.list({ state: 'pending', limit: 10 })).toEqual([])
    }
  })
})

/** Guests that ask, leave, cancel, come again and lose answers; people who decide and resolve. */
class Soak {
  readonly #random: Random
  readonly #sentOnce = new Set<string>()
  readonly #onTheirWay = new Set<string>()
  readonly broken: string[] = []
  isOver = false

  constructor(random: Random) {
    this.#random = random
    for (const world of [one, two]) {
      serve(
        world,
        (key) => {
          if (this.#onTheirWay.has(key)) this.broken.push(`two at once: ${key}`)
          this.#onTheirWay.add(key)
          return () => void this.#onTheirWay.delete(key)
        },
        () => (random.below(12) === 0 ? { verdict: 'uncertain' } : {}),
      )
    }
  }

  /** Every order that a worker might act on. */
  check(): void {
    for (const { worker } of [one, two])
      for (const step of worker.steps.splice(0))
        if (step.kind === 'commit') for (const id of step.ids) this.#note(worker, id)
  }

  #note({ orders }: World['worker'], intent: string): void {
    const { executionId } = JSON.parse(orders.find(({ id }) => id === intent)?.text ?? '{}')
    if (this.#sentOnce.has(executionId)) this.broken.push(`twice: ${executionId}`)
    this.#sentOnce.add(executionId)
  }

  async guest(at: World, turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      const left = new AbortController()
      const cancelled = new AbortController()
      const tool = this.#random.pick([identicalOnly, askTool, askTool])
      const outcome = at.ask({
        tool,
        argumentsText: `{"key":${this.#random.below(3)}}`,
        era: this.#random.pick(eras),
        left: left.signal,
        cancelled: cancelled.signal,
      })
      const act = this.#random.below(6)
      for (let wait = this.#random.below(8); wait > 0; wait--) await tick()
      if (act === 0) left.abort()
      if (act === 1) cancelled.abort()
      if (left.signal.aborted) {
        // Whoever has left hears nothing any more.
        void outcome.then((told) => told.kind !== 'waiting' && told.delivery?.lost())
        continue
      }
      const told = await outcome
      if (told.kind === 'waiting') continue
      told.delivery?.collected()
      if (this.#random.below(5) === 0) told.delivery?.lost()
    }
  }

  async people(): Promise<void> {
    while (!this.isOver) {
      const { store } = one
      for (const { id } of await store.approvals.list({ state: 'pending', limit: 20 }))
        await decide(this.#either(), this.#random.pick(['approve', 'approve', 'deny']), id).catch(
          allow('approval_settled'),
        )
      for (const { id } of await store.executions.list({ state: 'unknown', limit: 20 }))
        await resolveExecution(this.#either(), one.owner, id, {
          outcome: 'not_applied',
          note: '',
          allowRetry: this.#random.below(2) === 0,
        })
      for (const { orphans } of [one, two]) await orphans.look()
      one.step(10)
      await renew(one)
      await renew(two)
      this.check()
      await tick()
    }
  }

  #either(): World {
    return this.#random.pick([one, two])
  }
}

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1))
const allow = (code: string) => (error: { code?: string }) => expect(error.code).toBe(code)

test('whatever comes at once, each execution is sent once at most, one at a time, and all of them end', async () => {
  const random = seededRandom()
  process.stdout.write(`SALLYPORT_TEST_SEED=${random.seed}\n`)
  const soak = new Soak(random)
  const people = soak.people()
  const guests = [one, two, one, two, one, two].map((at) => soak.guest(at, 12))
  await Promise.all(guests)
  await until(async () => {
    const open = await one.store.executions.waiting(1)
    return open.every(({ caller, isModern }) => caller === 'held_back' || isModern)
  })
  soak.isOver = true
  await people
  await quiet(one, two)
  soak.check()
  expect(soak.broken).toEqual([])
  const rows = await one.store.executions.list({ limit: 1_000 })
  expect(rows.filter(({ state }) => state === 'dispatching')).toEqual([])
  const consumed = await one.store.approvals.list({ state: 'consumed', limit: 1_000 })
  const sentByApproval = rows.flatMap(({ approvalId, intentId }) => (intentId && approvalId) || [])
  expect(consumed.map(({ id }) => id).sort()).toEqual(sentByApproval.sort() as ApprovalId[])
})
