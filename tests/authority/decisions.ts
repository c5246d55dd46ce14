/** Who may decide about a write, when, and what each decision leaves behind; on a real store. */
import {
  type Actor,
  type Approval,
  approvalContext,
  type Connection,
  decideApproval,
  disableUser,
  type Execution,
  endSession,
  findApproval,
  listApprovals,
  type Store,
  useWithinMs,
} from '@sallyport/core'
import type { ErrorCode } from '@sallyport/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Asked,
  addPerson,
  announcedBy,
  anyConnection,
  askWrite,
  eventsOf,
  freshName,
  type Wanted,
} from './asked-writes.ts'
import { code, newWorld, type World } from './world.ts'

const idle = { settleSession: async () => {} }

/** `open` gives a store whose rows nobody else uses. */
export function decisions(open: () => Promise<Store>): void {
  let store: Store
  let w: World
  let org: Connection
  let carol: Actor
  let dave: Actor
  beforeAll(async () => {
    store = await open()
    w = await newWorld(store)
    org = await anyConnection(w, w.admin)
    carol = await addPerson(w, 'approver')
    dave = await addPerson(w, 'approver')
  })
  afterAll(() => store.close())

  const ask = (approval: Partial<Approval> = {}, execution: Partial<Execution> = {}) =>
    askWrite(w, w.alice, org, { approval, execution })
  const decide = (actor: Actor, { approval }: Asked, decision: 'approve' | 'deny', note?: string) =>
    decideApproval(w.deps, actor, approval.id, { decision, note })
  const now = async (asked: Asked) => ({
    approval: await store.approvals.get(asked.approval.id),
    execution: await store.executions.get(asked.execution.id),
  })
  const refused = async (
    asked: Asked,
    actor: Actor,
    decision: 'approve' | 'deny',
    why: ErrorCode,
  ) => {
    const before = await now(asked)
    await expect(decide(actor, asked, decision)).rejects.toMatchObject(code(why))
    expect(await now(asked)).toEqual(before)
  }

  test('approving moves approval, execution and journal together, and says so', async () => {
    const asked = await ask()
    let approved: Approval | undefined
    const announced = await announcedBy(w, async () => {
      approved = await decide(w.alice, asked, 'approve', 'looks right')
    })
    expect(announced).toEqual([asked.execution.id])
    const { approval, execution } = await now(asked)
    expect(approval).toEqual(approved)
    const decision = { by: w.alice.userId, decision: 'approve', note: 'looks right' }
    expect(approval).toMatchObject({ state: 'approved', closedAt: null, decisions: [decision] })
    const notes = { decisions: approval?.decisions, approval: approval?.id }
    const at = approval?.decisions[0]?.at
    expect(execution).toMatchObject({ state: 'approved', code: null, finishedAt: null, notes })
    expect(execution).toMatchObject({ caller: 'attached', sequence: 2 })
    const events = await eventsOf(w, asked.execution.id)
    expect(events.map(({ kind, sequence }) => [kind, sequence])).toEqual([
      ['awaiting_approval', 1],
      ['approved', 2],
    ])
    expect(events[1]).toMatchObject({ at, notes })
  })

  test('denying refuses the execution and leaves its caller, who can collect that', async () => {
    const asked = await ask({}, { caller: 'detached' })
    const announced = await announcedBy(w, () => decide(w.alice, asked, 'deny', 'not today'))
    expect(announced).toEqual([asked.execution.id])
    const { approval, execution } = await now(asked)
    expect(approval).toMatchObject({ state: 'denied', closedAt: expect.any(Number) })
    expect(execution).toMatchObject({
      state: 'refused',
      code: 'approval_denied',
      finishedAt: approval?.closedAt,
      caller: 'detached',
      notes: { decisions: [{ decision: 'deny', note: 'not today' }], approval: approval?.id },
    })
    const [, event] = await eventsOf(w, asked.execution.id)
    expect(event).toMatchObject({ kind: 'refused', code: 'approval_denied' })
  })

  test.each([
    ['attached', false, true],
    ['attached', true, true],
    ['detached', false, true],
    ['detached', true, false],
    ['held_back', true, false],
    ['held_back', false, false],
  ] as const)(
    'caller %s (modern: %s): a minute to use it? %s',
    async (caller, isModern, isShort) => {
      const asked = await ask({}, { caller, isModern })
      const { expiresAt, decisions } = await decide(w.alice, asked, 'approve')
      const inAMinute = (decisions[0]?.at ?? 0) + useWithinMs
      expect(expiresAt).toBe(isShort ? inAMinute : asked.approval.expiresAt)
    },
  )

  test.each([
    ['approve', 'approve'],
    ['approve', 'deny'],
    ['deny', 'approve'],
    ['deny', 'deny'],
  ] as const)('after %s, %s comes too late', async (first, second) => {
    const asked = await ask()
    await decide(w.alice, asked, first)
    await refused(asked, w.alice, second, 'approval_settled')
  })

  test.each([
    ['consumed', 'dispatching'],
    ['expired', 'refused'],
    ['cancelled', 'refused'],
    ['denied', 'refused'],
  ] as const)('what was %s is decided no more', async (state, executionState) => {
    const asked = await ask({ state, closedAt: 1 }, { state: executionState })
    await refused(asked, w.alice, 'approve', 'approval_settled')
    await refused(asked, w.alice, 'deny', 'approval_settled')
  })

  test('what is past its time is decided no more, also before anybody has swept it', async () => {
    const asked = await ask({ expiresAt: Date.now() - 1 })
    await refused(asked, w.alice, 'approve', 'approval_settled')
    await refused(asked, w.alice, 'deny', 'approval_settled')
  })

  test('what was refused by other means meanwhile is decided no more', async () => {
    for (const approvers of ['owner', 'two'] as const) {
      const asked = await ask({ approvers }, { state: 'refused', code: 'call_cancelled' })
      await refused(asked, w.alice, 'approve', 'approval_settled')
    }
  })

  test('nobody else finds what its owner decides, administrators neither', async () => {
    const asked = await ask({ approvers: 'owner' })
    for (const actor of [w.bob, carol, w.admin]) {
      await refused(asked, actor, 'approve', 'not_found')
      await refused(asked, actor, 'deny', 'not_found')
      await expect(findApproval(store, actor, asked.approval.id)).rejects.toMatchObject(
        code('not_found', 'id'),
      )
    }
    await decide(w.alice, asked, 'approve')
  })

  test('what there is not is not found', async () => {
    for (const id of [w.deps.ids('approval'), 'apr_1', '', w.deps.ids('execution')])
      await expect(decideApproval(w.deps, w.alice, id, { decision: 'deny' })).rejects.toMatchObject(
        code('not_found', 'id'),
      )
  })

  test.each([
    ['role:member', { bob: true, carol: true, admin: true }],
    ['role:approver', { bob: false, carol: true, admin: true }],
    ['role:admin', { bob: false, carol: false, admin: true }],
  ] as const)('%s lets that role and those above decide', async (approvers, may) => {
    const people = { bob: w.bob, carol, admin: w.admin }
    for (const [name, actor] of Object.entries(people)) {
      const asked = await ask({ approvers })
      if (!may[name as keyof typeof may]) await refused(asked, actor, 'approve', 'not_found')
      else expect((await decide(actor, asked, 'approve')).state).toBe('approved')
    }
    expect((await decide(w.alice, await ask({ approvers }), 'approve')).state).toBe('approved')
  })

  test('an excluded requester may not approve, may deny, and others approve', async () => {
    const excluded = { approvers: 'role:approver', excludesRequester: true } as const
    const asked = await ask(excluded)
    await refused(asked, w.alice, 'approve', 'not_allowed')
    expect((await decide(carol, asked, 'approve')).state).toBe('approved')
    expect((await decide(w.alice, await ask(excluded), 'deny')).state).toBe('denied')
    const own = await askWrite(w, carol, org, { approval: excluded })
    await refused(own, carol, 'approve', 'not_allowed')
  })

  test('two people are two: the first leaves it pending, the same one again is a conflict', async () => {
    const asked = await ask({ approvers: 'two' })
    const first = await decide(w.alice, asked, 'approve')
    expect(first).toMatchObject({ state: 'pending', expiresAt: asked.approval.expiresAt })
    expect(await now(asked)).toEqual({ approval: first, execution: asked.execution })
    await refused(asked, w.alice, 'approve', 'conflict')
    await refused(asked, w.bob, 'approve', 'not_found')
    const second = await decide(carol, asked, 'approve')
    expect(second.state).toBe('approved')
    expect(second.decisions.map(({ by }) => by)).toEqual([w.alice.userId, carol.userId])
    const [, event] = await eventsOf(w, asked.execution.id)
    expect(event).toMatchObject({ kind: 'approved', notes: { decisions: second.decisions } })
  })

  test('of two, whoever waits is told of the first as well', async () => {
    const asked = await ask({ approvers: 'two' })
    expect(await announcedBy(w, () => decide(carol, asked, 'approve'))).toEqual([
      asked.execution.id,
    ])
  })

  test('of two, two approvers do without the requester, and an excluded one does not count', async () => {
    const asked = await ask({ approvers: 'two', excludesRequester: true })
    await decide(carol, asked, 'approve')
    await refused(asked, w.alice, 'approve', 'not_allowed')
    expect((await decide(dave, asked, 'approve')).state).toBe('approved')
  })

  test('of two, one deny ends it, also by whoever approved before', async () => {
    for (const actor of [w.alice, carol, dave]) {
      const asked = await ask({ approvers: 'two' })
      await decide(carol, asked, 'approve')
      expect((await decide(actor, asked, 'deny')).state).toBe('denied')
      expect((await now(asked)).execution).toMatchObject({
        state: 'refused',
        notes: { decisions: [{ decision: 'approve' }, { decision: 'deny' }] },
      })
    }
  })

  test('of a personal connection its owner alone decides, whatever the grant said', async () => {
    const mine = await anyConnection(w, w.alice, true)
    for (const approvers of ['role:member', 'role:admin', 'two'] as const) {
      const approval = { approvers, excludesRequester: true }
      const asked = await askWrite(w, w.alice, mine, { approval })
      for (const actor of [w.admin, carol]) {
        await refused(asked, actor, 'approve', 'not_found')
        await refused(asked, actor, 'deny', 'not_found')
        const listed = await listApprovals(store, actor, { sessionId: asked.session.id, limit: 9 })
        expect(listed).toEqual([])
      }
      expect((await decide(w.alice, asked, 'approve')).state).toBe('approved')
    }
  })

  test('a call whose connection cannot be told is its owner’s alone', async () => {
    const asked = await ask({ approvers: 'role:member' }, { connectionId: null })
    await refused(asked, w.admin, 'approve', 'not_found')
    expect((await decide(w.alice, asked, 'approve')).state).toBe('approved')
  })

  test('the role of the row counts, not the role the request was let in with', async () => {
    const asked = await ask({ approvers: 'role:approver' })
    await refused(asked, { ...w.bob, role: 'admin' }, 'approve', 'not_found')
    await decide({ ...carol, role: 'member' }, asked, 'approve')
  })

  test('who was disabled meanwhile decides nothing', async () => {
    const name = freshName('erin')
    const erin = await addPerson(w, 'approver', name)
    const asked = await ask({ approvers: 'role:approver' })
    await disableUser(w.deps, idle, w.admin, name)
    await refused(asked, erin, 'approve', 'not_allowed')
    await refused(asked, erin, 'deny', 'not_allowed')
    await decide(carol, asked, 'approve')
  })

  test.each([
    ['approve', 'approve'],
    ['approve', 'deny'],
    ['deny', 'deny'],
  ] as const)('of two at once, %s and %s, one wins', async (one, other) => {
    for (let round = 0; round < 8; round++) {
      const asked = await ask({ approvers: 'role:approver' })
      const both = [decide(carol, asked, one), decide(dave, asked, other)]
      const ended = await Promise.allSettled(both)
      const won = ended.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
      const lost = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
      expect([won.length, lost.length]).toEqual([1, 1])
      expect(lost[0]).toMatchObject(code('approval_settled'))
      expect((await now(asked)).approval).toEqual(won[0])
      expect(await eventsOf(w, asked.execution.id)).toHaveLength(2)
    }
  })

  test('two approvals of two people at once are two', async () => {
    for (let round = 0; round < 8; round++) {
      const asked = await ask({ approvers: 'two' })
      const states = await Promise.all([
        decide(carol, asked, 'approve'),
        decide(dave, asked, 'approve'),
      ])
      expect(states.map(({ state }) => state).sort()).toEqual(['approved', 'pending'])
      expect((await now(asked)).approval?.decisions).toHaveLength(2)
    }
  })

  test('whoever approves while the session ends, nothing is left to be used', async () => {
    for (let round = 0; round < 8; round++) {
      const asked = await ask()
      const approving = decide(w.alice, asked, 'approve').catch((thrown) => thrown)
      const ending = endSession(w.deps, idle, w.alice, asked.session.id)
      const [approved] = await Promise.all([approving, ending])
      const state = approved instanceof Error ? 'late' : 'first'
      if (state === 'late') expect(approved).toMatchObject(code('approval_settled'))
      expect(await now(asked)).toMatchObject({
        approval: { state: 'cancelled' },
        execution: { state: 'refused', code: 'session_not_open' },
      })
      const events = await eventsOf(w, asked.execution.id)
      expect(events).toHaveLength(state === 'late' ? 2 : 3)
    }
  })

  test('a list shows one’s own and what one’s role decides, newest first', async () => {
    const session = (await ask()).session
    const put = (approval: Partial<Approval>, wanted: Wanted = {}) =>
      askWrite(w, w.alice, org, { session, approval, ...wanted })
    const own = await put({ approvers: 'owner' })
    const member = await put({ approvers: 'role:member' })
    const approver = await put({ approvers: 'role:approver' })
    const two = await put({ approvers: 'two', state: 'denied', closedAt: 1 })
    const admin = await put({ approvers: 'role:admin' })
    const seen = async (actor: Actor, state?: 'pending') => {
      const filter = { sessionId: session.id, limit: 50, state }
      const listed = await listApprovals(store, actor, filter)
      return listed.map(({ approval }) => approval.id)
    }
    const ids = (...asked: Asked[]) => asked.map(({ approval }) => approval.id)
    const all = await seen(w.alice)
    expect(all.slice(0, 5)).toEqual(ids(admin, two, approver, member, own))
    expect(await seen(w.bob)).toEqual(ids(member))
    expect(await seen(carol)).toEqual(ids(two, approver, member))
    expect(await seen(carol, 'pending')).toEqual(ids(approver, member))
    expect(await seen(w.admin)).toEqual(ids(admin, two, approver, member))
  })

  test('beside an approval stand identical calls of a day and unknown ones of its tool', async () => {
    const writeKey = freshName('key')
    const tool = freshName('tool')
    const session = (await ask()).session
    const day = 86_400_000
    const asked = (execution: Partial<Execution>) =>
      askWrite(w, w.alice, org, { session, execution: { writeKey, tool, ...execution } })
    const settled = { state: 'succeeded', finishedAt: 1, approvalId: null } as const
    await asked({ ...settled, arrivedAt: Date.now() - day - 60_000 })
    const recent = await asked({ ...settled, arrivedAt: Date.now() - day + 60_000 })
    const other = freshName('other')
    const unknown = await asked({ state: 'unknown', writeKey: other })
    await asked({ state: 'unknown', writeKey: freshName('else'), tool: 'another' })
    const it = await asked({})
    const sealer = { seal: () => Buffer.alloc(0), open: () => Buffer.alloc(0) }
    const seen = await findApproval(store, w.alice, it.approval.id)
    const context = await approvalContext(store, sealer, seen, Date.now())
    expect(context.identical.map(({ id }) => id)).toEqual([recent.execution.id])
    expect(context.unknown.map(({ id }) => id)).toEqual([unknown.execution.id])
    expect(context.argumentsText).toBeNull()
  })
}
