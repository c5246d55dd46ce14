import { decideApproval, expireApprovals } from '@sallyport/core'
import type { ApprovalId } from '@sallyport/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { askTool, type Engine, openWorld, type World } from './call-world.ts'
import { pending } from './held-calls.ts'

const write = { tool: askTool, argumentsText: '{"by":1}' }

describe.each<Engine>(['memory', 'sqlite'])('approvals on %s', (engine) => {
  let world: World
  beforeEach(async () => {
    world = await openWorld(engine)
  })
  afterEach(() => world.close())

  const decide = async (decision: 'approve' | 'deny') =>
    decideApproval(world, world.owner, await pendingId(world), { decision })

  test('a write waits for a person, is sent once when approved, and its approval is consumed', async () => {
    const outcome = world.call(write)
    await decide('approve')
    world.answer(await world.worker.intent())
    expect(await outcome).toMatchObject({ kind: 'result' })
    expect(await world.row()).toMatchObject({ state: 'succeeded', caller: 'collected' })
    const [approval] = await world.store.approvals.list({ limit: 10 })
    expect(approval).toMatchObject({ state: 'consumed' })
    expect(world.worker.orders).toHaveLength(1)
    expect(JSON.parse(world.worker.orders[0]?.text ?? '')).toMatchObject({
      approvalId: approval?.id,
    })
  })

  test('a denied write is told as denied and never sent', async () => {
    const outcome = world.call(write)
    await decide('deny')
    expect(await outcome).toMatchObject({ kind: 'failure', code: 'approval_denied' })
    expect(world.worker.orders).toHaveLength(0)
  })

  test('an approval that nobody gives expires, and the call is told so', async () => {
    const outcome = world.call(write)
    await pendingId(world)
    world.step(3_601_000)
    expect(await expireApprovals(world, world.now())).toBe(1)
    expect(await outcome).toMatchObject({ kind: 'failure', code: 'approval_expired' })
    expect(world.worker.orders).toHaveLength(0)
  })

  test.each(['approve', 'deny'] as const)(
    'a decision (%s) between its record and its caller reaches the caller',
    async (decision) => {
      const pass = world.group.pass.bind(world.group)
      world.group.pass = (entry, decided) =>
        pass(entry, (told) => {
          if (told.kind !== 'held' || told.row.state !== 'awaiting_approval') decided(told)
          else void decide(decision).then(() => setImmediate(() => decided(told)))
        })
      const outcome = world.call(write)
      if (decision === 'approve') world.answer(await world.worker.intent())
      const told = decision === 'approve' ? { kind: 'result' } : { code: 'approval_denied' }
      expect(await outcome).toMatchObject(told)
    },
  )
})

const pendingId = async (world: World): Promise<ApprovalId> => (await pending(world)).id
