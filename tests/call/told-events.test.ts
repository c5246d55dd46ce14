/** What webhooks are told of a write: each step a person may want to know of, once, and nothing of what it would do. */
import { expireApprovals, resolveExecution } from '@sallyport/core'
import { webhookEvents } from '@sallyport/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { exampleWebhook } from '../../packages/store/src/contract/examples.ts'
import { type Engine, openWorld, type World } from './call-world.ts'
import {
  approveSent,
  askHeld,
  askSent,
  decide,
  pending,
  renew,
  rowOf,
  take,
  write,
} from './held-calls.ts'

const secret = 'told-to-nobody'
const given = { argumentsText: `{"text":"${secret}"}` }

describe.each<Engine>(['memory', 'sqlite'])('what webhooks are told on %s', (engine) => {
  let world: World
  const all = exampleWebhook({ name: 'all', events: [...webhookEvents] })
  const some = exampleWebhook({ name: 'some', events: ['execution.unknown'] })
  beforeEach(async () => {
    world = await openWorld(engine)
    await renew(world)
    await world.store.transact(async (tx) => {
      for (const webhook of [all, some]) await tx.webhooks.insert(webhook)
    })
  })
  afterEach(() => world.close())

  /** Since the last look; oldest first. */
  const told = async (webhook = all) => {
    await world.group.drained()
    const taken = await world.store.transact(async (tx) => {
      const now = await tx.now()
      const found = await tx.webhooks.take(now, now, 100)
      const own = found.filter(({ webhookId }) => webhookId === webhook.id)
      await tx.webhooks.drop(own.map(({ id }) => id))
      return own
    })
    for (const { event, text } of taken) {
      expect(JSON.parse(text).type).toBe(event)
      expect(text).not.toContain(secret)
    }
    return taken.map(({ event }) => event).toSorted()
  }

  test('that it is asked for, and that it is approved; its result is nobody’s business', async () => {
    const call = await askHeld(world, given)
    expect(await told()).toEqual(['approval.requested'])
    world.answer(await approveSent(world))
    await take(world, await call.outcome)
    expect(await told()).toEqual(['approval.approved'])
    expect(await told(some)).toEqual([])
  })

  test('that it is denied', async () => {
    const call = await askHeld(world, given)
    await decide(world, 'deny')
    await call.outcome
    expect(await told()).toEqual(['approval.denied', 'approval.requested'])
  })

  test('that it has expired', async () => {
    const call = await askHeld(world, given)
    expect(await told()).toEqual(['approval.requested'])
    world.step(3_600_000)
    expect(await expireApprovals(world, world.now())).toBe(1)
    await call.outcome
    expect(await told()).toEqual(['approval.expired'])
  })

  test('that whoever asked for it took it back', async () => {
    const call = await askHeld(world, given)
    await pending(world)
    expect(await told()).toEqual(['approval.requested'])
    call.cancel()
    await call.outcome
    expect(await told()).toEqual(['approval.cancelled'])
  })

  test('that its outcome is unknown, which takes back what is identical, and what a person found out', async () => {
    const call = await askSent(world, given)
    const other = await askHeld(world, given)
    expect(await told()).toEqual(['approval.requested'])
    world.answer(call.intent, { verdict: 'uncertain', code: 'upstream_timeout' })
    expect(await call.outcome).toMatchObject({ code: 'outcome_unknown' })
    expect(await other.outcome).toMatchObject({ code: 'outcome_unknown' })
    expect(await told()).toEqual(['approval.cancelled', 'execution.unknown'])
    expect(await told(some)).toEqual(['execution.unknown'])
    const said = { outcome: 'applied', note: secret, allowRetry: false } as const
    await resolveExecution(world, world.owner, call.id, said)
    expect(await told()).toEqual(['execution.resolved'])
    expect(await rowOf(world, call.id)).toMatchObject({ state: 'resolved' })
  })

  test('nothing of a write that needs nobody, or that is refused before anybody is asked', async () => {
    const call = await askSent(world, given)
    world.answer(call.intent)
    await take(world, await call.outcome)
    const refused = await world.ask({ ...write, ...given, cancelled: AbortSignal.abort() })
    expect(refused).toMatchObject({ code: 'call_cancelled' })
    expect(await told()).toEqual([])
    await askHeld(world, given)
    expect(await told()).toEqual(['approval.requested'])
  })
})
