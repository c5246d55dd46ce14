/** What an approval lets through, and what it does not, on every database. */
import { randomBytes } from 'node:crypto'
import {
  type Actor,
  argumentRules,
  disableConnection,
  disableUser,
  effectiveArguments,
  endSession,
  expireApprovals,
  pauseCalls,
  resumeCalls,
  revokeGrants,
  SchemaCache,
  type Tx,
  withdrawCatalog,
} from '@sallyport/core'
import type { ApprovalId, ErrorCode } from '@sallyport/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { askTool, openWorld, type World } from './call-world.ts'
import {
  addUser,
  approvals,
  approveSent,
  askHeld,
  decide,
  executionOf,
  limited,
  openSession,
  pending,
  quiet,
  renew,
  rowsOf,
  sent,
  statesOf,
  take,
  until,
  write,
} from './held-calls.ts'
import { type PostgresWorlds, startPostgresWorlds } from './postgres-worlds.ts'

const rules = argumentRules(
  { catalogRoot: { type: 'object' }, overlays: [], fixed: {} },
  new SchemaCache(),
)
/** Reads arguments as a tool that was bound does. */
const exactTool = {
  ...askTool,
  effective: (argumentsText: string) => effectiveArguments({ argumentsText, ...rules }),
}

describe.each(['memory', 'sqlite', 'postgres'] as const)('an approval on %s', (engine) => {
  let postgres: PostgresWorlds | undefined
  let world: World
  /** Another gateway on the same database. */
  let rival: World
  beforeAll(async () => {
    if (engine === 'postgres') postgres = await startPostgresWorlds()
  })
  afterAll(() => postgres?.stop())
  beforeEach(async () => {
    if (postgres) {
      const opened = await postgres.open()
      world = opened.world
      rival = opened.rival
    } else if (engine !== 'postgres') {
      world = await openWorld(engine)
      rival = world.another()
    }
    await renew(world)
    await renew(rival)
  })
  afterEach(() => world.close())

  const deps = () => ({ ...world, random: (size: number) => randomBytes(size) })
  const admin = (): Actor => world.owner
  const states = async () => (await approvals(world)).map(({ state }) => state)

  /** The same way, with nothing in it: the call is sent. */
  const control = async (): Promise<void> => {
    const before = sent(world, rival)
    const call = await askHeld(world, { argumentsText: '{"control":1}' })
    world.answer(await approveSent(world))
    await take(world, await call.outcome)
    expect(sent(world, rival)).toBe(before + 1)
  }

  describe('belongs to its arguments', () => {
    /** Approved, and left before it could be sent. */
    const approvedFor = async (argumentsText: string) => {
      const call = await askHeld(world, { era: 'modern', tool: exactTool, argumentsText })
      const { executionId } = await pending(world)
      await call.leave()
      await decide(world, 'approve')
      return executionId
    }

    test.each([
      ['one byte', '{"text":"abc"}', '{"text":"abd"}'],
      ['the unicode form', '{"text":"\u00e9"}', '{"text":"e\u0301"}'],
      ['case', '{"text":"abc"}', '{"text":"aBc"}'],
      ['a blank in a text', '{"text":"abc"}', '{"text":"abc "}'],
      ['an invisible character', '{"text":"abc"}', '{"text":"ab\u200bc"}'],
      ['a number as text', '{"n":1}', '{"n":"1"}'],
      ['null instead of nothing', '{"n":1}', '{"n":1,"m":null}'],
      ['the order of a list', '{"n":[1,2]}', '{"n":[2,1]}'],
    ])('others by %s are another call, which is asked for', async (_, approved, other) => {
      await approvedFor(approved)
      const call = await askHeld(world, { era: 'modern', tool: exactTool, argumentsText: other })
      await quiet(world)
      expect(sent(world)).toBe(0)
      expect(await states()).toEqual(['approved', 'pending'])
      const same = world.ask({ era: 'modern', tool: exactTool, argumentsText: approved })
      world.answer(await world.worker.intent())
      expect(await same).toMatchObject({ kind: 'result' })
      call.cancel()
      expect(await call.outcome).toMatchObject({ code: 'call_cancelled' })
      expect(sent(world)).toBe(1)
    })

    test.each([
      ['in another order', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
      ['with a number written 1.0', '{"n":1}', '{"n":1.0}'],
      ['with a number written 1e0', '{"n":1}', '{"n":1e0}'],
      ['with blanks', '{"n":1}', ' { "n" : 1 } '],
      ['with an escaped character', '{"text":"a\u00e9"}', '{"text":"\\u0061\\u00E9"}'],
    ])('the same %s are the same call, which it lets through', async (_, approved, same) => {
      const executionId = await approvedFor(approved)
      const call = world.ask({ era: 'modern', tool: exactTool, argumentsText: same })
      const intent = await world.worker.intent()
      expect(world.worker.orders[0]?.argumentsText).toBe(
        (exactTool.effective(approved) as { text: string }).text,
      )
      world.answer(intent)
      expect(await call).toMatchObject({ kind: 'result', executionId })
      expect(await states()).toEqual(['consumed'])
      expect(sent(world)).toBe(1)
    })

    test('arguments that no canonical form holds exactly ask nobody', async () => {
      const tool = exactTool
      for (const argumentsText of [
        '{"n":12345678901234567890}',
        '{"a":1,"a":2}',
        '{"t":"\\ud800"}',
      ])
        expect(await world.ask({ tool, argumentsText })).toMatchObject({
          code: 'arguments_not_exact',
        })
      expect(await states()).toEqual([])
      await control()
    })
  })

  describe('lets nothing through after', () => {
    const change = (work: (tx: Tx) => Promise<unknown>) => world.store.transact(work)
    const connection = askTool.binding.connectionId
    type Arranged = readonly [string, ErrorCode, () => Promise<unknown>]
    const obstacles: readonly Arranged[] = [
      [
        'the reviewed definition of its tool was withdrawn',
        'catalog_withdrawn',
        () => withdrawCatalog(deps(), admin(), connection, 1),
      ],
      [
        'its grant was revoked',
        'grant_changed',
        () => revokeGrants(deps(), admin(), { profile: 'coding', connection, tools: '*' }),
      ],
      [
        'its connection was disabled',
        'connection_disabled',
        () => disableConnection(deps(), admin(), connection),
      ],
      [
        'its connection became another upstream',
        'connection_changed',
        () =>
          change(async (tx) => {
            const row = (await tx.connections.get(connection)) ?? expect.fail()
            const next = { ...row, revision: 2, version: row.version + 1 }
            await tx.connections.update(next, row.version)
          }),
      ],
      [
        'its credential was revoked',
        'credential_unusable',
        () =>
          change(async (tx) => {
            const row = await tx.credentials.get(askTool.binding.credentialId ?? expect.fail())
            if (!row) expect.fail()
            await tx.credentials.update({ ...row, state: 'revoked' }, row.version)
          }),
      ],
      [
        'its session ended',
        'session_not_open',
        () => endSession(deps(), { settleSession: async () => {} }, admin(), world.session.id),
      ],
      [
        'calls were paused',
        'paused',
        () => pauseCalls(deps(), admin(), { writesOnly: true, note: '' }),
      ],
    ]

    test.each(obstacles)('%s, while it was pending: %s', async (_, code, arrange) => {
      await control()
      const call = await askHeld(world)
      const { id } = await pending(world)
      await arrange()
      if (code !== 'session_not_open') await decide(world, 'approve', id)
      expect(await call.outcome).toMatchObject({ code })
      await quiet(world, rival)
      expect(await states()).toEqual(['consumed', 'cancelled'])
      expect((await statesOf(world)).at(-1)).toBe(`refused ${code}`)
      expect(sent(world, rival)).toBe(1)
    })

    test.each(obstacles)('%s, when it was given and not yet used: %s', async (_, code, arrange) => {
      await control()
      const call = await askHeld(world)
      world.worker.name = undefined
      await decide(world, 'approve')
      await quiet(world)
      await arrange()
      world.worker.name = 'worker-1'
      await quiet(world, rival)
      expect(await call.outcome).toMatchObject({ code })
      expect(await states()).toEqual(['consumed', 'cancelled'])
      expect(sent(world, rival)).toBe(1)
    })

    test('its owner was disabled, whose sessions end: session_not_open', async () => {
      const boss = await addUser(world, 'admin')
      await control()
      const call = await askHeld(world)
      await disableUser(deps(), { settleSession: async () => {} }, boss, 'ada')
      expect(await call.outcome).toMatchObject({ code: 'session_not_open' })
      expect(await states()).toEqual(['consumed', 'cancelled'])
      expect(sent(world)).toBe(1)
    })

    test('it expired: what is decided too late is settled, and the call asks anew', async () => {
      rival.die()
      const call = await askHeld(world)
      const { id } = await pending(world)
      world.step(3_599_999)
      expect(await expireApprovals(world, world.now())).toBe(0)
      world.step(1)
      await expect(decide(world, 'approve', id)).rejects.toMatchObject({ code: 'approval_settled' })
      expect(await expireApprovals(world, world.now())).toBe(1)
      expect(await call.outcome).toMatchObject({ code: 'approval_expired' })
      expect(sent(world, rival)).toBe(0)
      await control()
      expect(await states()).toEqual(['expired', 'consumed'])
    })

    test('the rate of its grant was used up, and again when that time is over', async () => {
      rival.die()
      const tool = limited(askTool, { rate: { count: 1, seconds: 60 } })
      const asked = async (n: number) => {
        const call = await askHeld(world, { tool, argumentsText: `{"n":${n}}` })
        await decide(world, 'approve')
        return call
      }
      const first = await asked(1)
      world.answer(await world.worker.intent())
      await take(world, await first.outcome)
      expect(await (await asked(2)).outcome).toMatchObject({ code: 'rate_limited' })
      world.step(60_001)
      await renew(world)
      const third = await asked(3)
      world.answer(await world.worker.intent(1))
      expect(await third.outcome).toMatchObject({ kind: 'result' })
      expect(await states()).toEqual(['consumed', 'cancelled', 'consumed'])
      expect(sent(world)).toBe(2)
    })

    test('its tool is bound otherwise', async () => {
      const first = await askHeld(world, { era: 'modern' })
      await first.leave()
      await decide(world, 'approve')
      const binding = { ...askTool.binding, hash: `sha256:${'e'.repeat(64)}` }
      const other = await world.ask({ ...write, era: 'modern', tool: { ...askTool, binding } })
      expect(other).toMatchObject({ code: 'approval_settled' })
      expect(await states()).toEqual(['cancelled'])
      expect(sent(world)).toBe(0)
      await control()
    })
  })

  describe('still lets through when', () => {
    test('a newer revision of the catalog was published', async () => {
      const call = await askHeld(world)
      await world.store.transact(async (tx) => {
        const row = (await tx.catalogs.get(askTool.binding.catalogId)) ?? expect.fail()
        const next = { ...row, state: 'superseded', version: row.version + 1 } as const
        await tx.catalogs.update(next, row.version)
      })
      world.answer(await approveSent(world))
      expect(await call.outcome).toMatchObject({ kind: 'result' })
      expect(sent(world)).toBe(1)
    })

    test('calls were paused and go on', async () => {
      const call = await askHeld(world)
      await pauseCalls(deps(), admin(), { writesOnly: false, note: '' })
      await resumeCalls(deps(), admin())
      world.answer(await approveSent(world))
      expect(await call.outcome).toMatchObject({ kind: 'result' })
    })

    test('the worker was away for less than a minute', async () => {
      rival.die()
      const call = await askHeld(world)
      world.worker.name = undefined
      await decide(world, 'approve')
      world.step(59_999)
      await quiet(world)
      expect(sent(world)).toBe(0)
      world.worker.name = 'worker-2'
      await quiet(world)
      world.answer(await world.worker.intent())
      expect(await call.outcome).toMatchObject({ kind: 'result' })
      expect(JSON.parse(world.worker.orders[0]?.text ?? '{}').aud).toBe('worker-2')
      expect(await states()).toEqual(['consumed'])
    })

    test('not when it was away for a minute: then it expires', async () => {
      rival.die()
      const call = await askHeld(world)
      world.worker.name = undefined
      await decide(world, 'approve')
      world.step(60_000)
      world.worker.name = 'worker-2'
      await quiet(world)
      expect(await call.outcome).toMatchObject({ code: 'approval_expired' })
      expect(await states()).toEqual(['expired'])
      expect(sent(world)).toBe(0)
      await control()
    })

    test('the worker said that the tool has changed: nothing was sent, and it is spent', async () => {
      const call = await askHeld(world)
      world.answer(await approveSent(world), { verdict: 'not_sent', code: 'tool_changed' })
      expect(await call.outcome).toMatchObject({ code: 'tool_changed' })
      expect(await states()).toEqual(['consumed'])
      expect(await statesOf(world)).toEqual(['not_sent tool_changed'])
    })
  })

  describe('is of one session, one owner, whatever gateway', () => {
    test('an identical call of another session asks for its own', async () => {
      const first = await askHeld(world, { era: 'modern' })
      await first.leave()
      await decide(world, 'approve')
      const second = await askHeld(world, { session: await openSession(world) })
      await quiet(world)
      expect(sent(world)).toBe(0)
      world.answer(await approveSent(world))
      expect(await second.outcome).toMatchObject({ kind: 'result' })
      expect(await states()).toEqual(['approved', 'consumed'])
      expect(sent(world)).toBe(1)
    })

    test('an identical call of another owner asks for its own', async () => {
      const other = await addUser(world)
      await askHeld(world)
      const session = await openSession(world, { ownerId: other.userId })
      const second = await askHeld(world, { session })
      const [, theirs] = await approvals(world)
      await decide(world, 'approve', theirs?.id, other)
      world.answer(await world.worker.intent())
      expect(await second.outcome).toMatchObject({ kind: 'result' })
      expect(await states()).toEqual(['pending', 'consumed'])
      expect(sent(world)).toBe(1)
    })

    test('others do not find it, whatever their role', async () => {
      const call = await askHeld(world)
      const { id } = await pending(world)
      for (const role of ['member', 'approver', 'admin'] as const)
        for (const decision of ['approve', 'deny'] as const) {
          const other = await addUser(world, role)
          await expect(decide(world, decision, id, other)).rejects.toMatchObject({
            code: 'not_found',
          })
        }
      world.answer(await approveSent(world))
      expect(await call.outcome).toMatchObject({ kind: 'result' })
      expect(sent(world)).toBe(1)
    })

    test('given at one gateway it lets the call go on that another one holds', async () => {
      const call = await askHeld(rival)
      await decide(world, 'approve')
      rival.answer(await rival.worker.intent())
      expect(await call.outcome).toMatchObject({ kind: 'result' })
      await rival.group.drained()
      expect(await states()).toEqual(['consumed'])
      expect([sent(world), sent(rival)]).toEqual([0, 1])
    })

    test('denied at one gateway it ends the call that another one holds', async () => {
      const call = await askHeld(rival)
      await decide(world, 'deny')
      expect(await call.outcome).toMatchObject({ code: 'approval_denied' })
      expect(sent(world, rival)).toBe(0)
    })
  })

  describe('is decided once', () => {
    const settled = async (decisions: readonly Promise<unknown>[]) => {
      const ends = await Promise.allSettled(decisions)
      const lost = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.code] : []))
      return { won: ends.filter(({ status }) => status === 'fulfilled').length, lost }
    }

    test.each([
      ['approve', 'approve'],
      ['approve', 'deny'],
      ['deny', 'approve'],
      ['deny', 'deny'],
    ] as const)('of two people who %s and %s at once, one is heard', async (one, two) => {
      const tool = limited(askTool, { approvers: 'role:approver' })
      const other = await addUser(world, 'approver')
      const call = await askHeld(world, { tool })
      const { id } = await pending(world)
      const decisions = [decide(world, one, id), decide(rival, two, id, other)]
      expect(await settled(decisions)).toEqual({ won: 1, lost: ['approval_settled'] })
      const { state } = (await approvals(world))[0] ?? expect.fail()
      if (state === 'denied') expect(await call.outcome).toMatchObject({ code: 'approval_denied' })
      else {
        world.answer(await world.worker.intent())
        expect(await call.outcome).toMatchObject({ kind: 'result' })
      }
      expect(sent(world, rival)).toBe(state === 'denied' ? 0 : 1)
    })

    test('what was denied is not approved afterwards, and what was approved is not denied', async () => {
      for (const [first, second] of [
        ['deny', 'approve'],
        ['approve', 'deny'],
      ] as const) {
        const call = await askHeld(world)
        const { id } = await pending(world)
        await decide(world, first, id)
        await expect(decide(world, second, id)).rejects.toMatchObject({ code: 'approval_settled' })
        if (first === 'approve') world.answer(await world.worker.intent())
        await take(world, await call.outcome)
      }
      expect(await states()).toEqual(['denied', 'consumed'])
      expect(sent(world)).toBe(1)
    })

    test('what was spent is not given again, and does not serve another call', async () => {
      await control()
      const [spent] = await approvals(world)
      for (const decision of ['approve', 'deny'] as const)
        await expect(decide(world, decision, spent?.id)).rejects.toMatchObject({
          code: 'approval_settled',
        })
      const again = await askHeld(world, { argumentsText: '{"control":1}' })
      await quiet(world, rival)
      expect(await states()).toEqual(['consumed', 'pending'])
      expect(sent(world, rival)).toBe(1)
      await decide(world, 'deny')
      expect(await again.outcome).toMatchObject({ code: 'approval_denied' })
    })

    test('a spent one whose answer was lost points at its unknown execution, and nobody is asked again', async () => {
      const call = await askHeld(world)
      world.answer(await approveSent(world), { verdict: 'uncertain', code: 'upstream_timeout' })
      await call.outcome
      await world.group.drained()
      const executionId = executionOf(world, 0)
      expect(await world.ask(write)).toMatchObject({ code: 'outcome_unknown', executionId })
      expect(await approvals(world)).toMatchObject([{ state: 'consumed', executionId }])
      expect(sent(world)).toBe(1)
    })

    test('by the requester, where the grant does not exclude that', async () => {
      const excluded = limited(askTool, { approvers: 'role:member', excludeRequester: true })
      const call = await askHeld(world, { tool: excluded })
      const { id } = await pending(world)
      await expect(decide(world, 'approve', id)).rejects.toMatchObject({ code: 'not_allowed' })
      await quiet(world)
      expect(sent(world)).toBe(0)
      await decide(world, 'approve', id, await addUser(world))
      world.answer(await world.worker.intent())
      await take(world, await call.outcome)
      const own = await askHeld(world, { tool: limited(askTool, { approvers: 'role:member' }) })
      world.answer(await approveSent(world))
      expect(await own.outcome).toMatchObject({ kind: 'result' })
      expect(sent(world)).toBe(2)
    })

    test('the requester may always deny', async () => {
      const excluded = limited(askTool, { approvers: 'role:member', excludeRequester: true })
      const call = await askHeld(world, { tool: excluded })
      await decide(world, 'deny')
      expect(await call.outcome).toMatchObject({ code: 'approval_denied' })
    })

    test('by two different people, where the grant wants two', async () => {
      const call = await askHeld(world, { tool: limited(askTool, { approvers: 'two' }) })
      const { id } = await pending(world)
      const other = await addUser(world, 'approver')
      expect(await decide(world, 'approve', id)).toMatchObject({ state: 'pending' })
      await expect(decide(world, 'approve', id)).rejects.toMatchObject({ code: 'conflict' })
      await quiet(world)
      expect(sent(world)).toBe(0)
      expect(await decide(rival, 'approve', id, other)).toMatchObject({ state: 'approved' })
      world.answer(await world.worker.intent())
      expect(await call.outcome).toMatchObject({ kind: 'result' })
      expect(sent(world)).toBe(1)
    })

    test('by two at once, where the grant wants two: both count, and it is sent once', async () => {
      const call = await askHeld(world, { tool: limited(askTool, { approvers: 'two' }) })
      const { id } = await pending(world)
      const other = await addUser(world, 'approver')
      const decisions = [decide(world, 'approve', id), decide(rival, 'approve', id, other)]
      expect(await settled(decisions)).toEqual({ won: 2, lost: [] })
      world.answer(await world.worker.intent())
      expect(await call.outcome).toMatchObject({ kind: 'result' })
      expect(sent(world, rival)).toBe(1)
    })

    test('one who denies is enough, where the grant wants two', async () => {
      const call = await askHeld(world, { tool: limited(askTool, { approvers: 'two' }) })
      const { id } = await pending(world)
      await decide(world, 'approve', id)
      await decide(world, 'deny', id, await addUser(world, 'approver'))
      expect(await call.outcome).toMatchObject({ code: 'approval_denied' })
      expect(sent(world)).toBe(0)
    })

    test('a role that was taken away since counts no more', async () => {
      const tool = limited(askTool, { approvers: 'role:approver' })
      const call = await askHeld(world, { tool })
      const { id } = await pending(world)
      const former: Actor = { ...(await addUser(world)), role: 'approver' }
      await expect(decide(world, 'approve', id, former)).rejects.toMatchObject({
        code: 'not_found',
      })
      await decide(world, 'approve', id, await addUser(world, 'approver'))
      world.answer(await world.worker.intent())
      expect(await call.outcome).toMatchObject({ kind: 'result' })
    })
  })

  test('two gateways that race for one approved call without a caller spend it once', async () => {
    for (let n = 0; n < 5; n++) {
      const call = await askHeld(world, { argumentsText: `{"n":${n}}` })
      await call.leave()
      await decide(rival, 'approve')
      await Promise.all([world.orphans.look(), rival.orphans.look()])
      await until(() => sent(world, rival) > n)
      await quiet(world, rival)
      expect(sent(world, rival)).toBe(n + 1)
    }
    expect(await states()).toEqual(Array(5).fill('consumed'))
    const intents = (await rowsOf(world)).map(({ intentId }) => intentId)
    expect(new Set(intents).size).toBe(5)
  })

  test('where nobody is there to approve, nobody is asked', async () => {
    await control()
    const profile = await world.store.profiles.get(world.session.profileId)
    if (!profile) expect.fail()
    const id = world.ids('profile')
    const settings = { ...profile.settings, interactive: false }
    await world.store.transact((tx) =>
      tx.profiles.insert({ ...profile, id, name: 'unattended', settings }),
    )
    const session = await openSession(world, { profileId: id })
    expect(await world.ask({ ...write, session })).toMatchObject({ code: 'nobody_to_approve' })
    expect(await states()).toEqual(['consumed'])
    expect(sent(world)).toBe(1)
  })

  test('of what there is not is not found', async () => {
    await control()
    for (const id of [world.ids('approval'), 'apr_1', ''] as ApprovalId[])
      await expect(decide(world, 'approve', id)).rejects.toMatchObject({ code: 'not_found' })
  })
})
