/** Approvals and their executions, as the API shows them. */
import { type Connection, createToken } from '@sallyport/core'
import type { RouteName } from '@sallyport/protocol'
import { routes } from '@sallyport/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type ApiWorld,
  type Ask,
  type Reply,
  startApi,
} from '../../../../tests/authority/api-world.ts'
import {
  type Asked,
  addPerson,
  anyConnection,
  askWrite,
  openSessionOf,
  type Wanted,
} from '../../../../tests/authority/asked-writes.ts'
import {
  addProfile,
  enabledConnection,
  grant,
  listingOf,
} from '../../../../tests/authority/world.ts'

let api: ApiWorld
let org: Connection
/** As carol, an approver. */
let carol: (name: RouteName, ask?: Ask) => Promise<Reply>
beforeEach(async () => {
  api = await startApi()
  org = await anyConnection(api, api.admin)
  await addPerson(api, 'approver', 'carol')
  const { secret } = await createToken(api.deps, api.admin, { user: 'carol' })
  carol = (name, ask = {}) => as(secret, name, ask)
})
afterEach(() => api.close())

function as(secret: string, name: RouteName, { params, body }: Ask): Promise<Reply> {
  const { method, path } = routes[name]
  const filled = path.replace(/\{(\w+)\}/g, (_, key) => params?.[key] ?? key)
  return api.send(method, `/api/v1${filled}`, {
    headers: { authorization: `Bearer ${secret}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const ask = (wanted: Wanted = {}, connection = org) => askWrite(api, api.alice, connection, wanted)
const idOf = ({ approval }: Asked) => ({ params: { id: approval.id } })
const text = '{"amount":5,"to":"\\u202eeve"}'

async function keepArguments({ execution: { id: executionId } }: Asked, dueAt = 9e15) {
  const sealed = api.deps.bodies.seal(executionId, 'arguments', text)
  await api.store.transact((tx) =>
    tx.bodies.insert([{ executionId, kind: 'arguments', sealed, dueAt }]),
  )
}

test('a list names people, and says what whoever asks may do now', async () => {
  const session = await openSessionOf(api, api.alice, { label: 'nightly' })
  const two = { approvers: 'two', excludesRequester: true } as const
  const asked = await ask({ session, approval: two, execution: { caller: 'held_back' } })
  await carol('approval.approve', { ...idOf(asked), body: { note: 'fine by me' } })
  const { json } = await api.call('alice', 'approval.list')
  const { approval, execution } = asked
  expect(json.items).toEqual([
    {
      id: approval.id,
      state: 'pending',
      executionId: execution.id,
      sessionId: session.id,
      sessionLabel: 'nightly',
      requester: 'alice',
      connection: execution.connectionName,
      tool: execution.tool,
      callId: execution.callId,
      argumentsDigest: execution.argumentsDigest,
      bindingHash: execution.bindingHash,
      approvers: 'two',
      excludesRequester: true,
      decisions: [{ by: 'carol', decision: 'approve', note: 'fine by me', at: expect.any(String) }],
      requestedAt: new Date(approval.requestedAt).toISOString(),
      expiresAt: new Date(approval.expiresAt).toISOString(),
      closedAt: null,
      caller: 'held_back',
      mayApprove: false,
      mayDeny: true,
    },
  ])
  const [carols] = (await carol('approval.list')).json.items
  expect(carols).toMatchObject({ mayApprove: false, mayDeny: true })
  const [admins] = (await api.call('admin', 'approval.list')).json.items
  expect(admins).toMatchObject({ mayApprove: true, mayDeny: true })
  expect((await api.call('bob', 'approval.list')).json.items).toEqual([])
})

test('a list is of one state or one session where that is asked', async () => {
  const first = await ask()
  const second = await ask({ approval: { state: 'denied', closedAt: 1 } })
  const listed = async (query: string) =>
    (await api.call('alice', 'approval.list', { query })).json.items.map(
      ({ id }: { id: string }) => id,
    )
  expect(await listed('')).toEqual([second.approval.id, first.approval.id])
  expect(await listed('?state=pending')).toEqual([first.approval.id])
  expect(await listed(`?session=${second.session.id}`)).toEqual([second.approval.id])
  expect(await listed('?limit=1')).toEqual([second.approval.id])
  const bad = await api.call('alice', 'approval.list', { query: '?session=other' })
  expect([bad.status, bad.json.error.field]).toEqual([400, 'session'])
})

test('one is shown with exactly what would be sent, and what the grant and the review say', async () => {
  const connection = await enabledConnection(
    api,
    api.admin,
    {},
    listingOf({
      name: 'pay',
      description: 'Pays somebody.',
      inputSchema: { type: 'object', properties: { to: { type: 'string' } } },
    }),
  )
  await addProfile(api, 'p')
  const limits = { fixed: { to: 'bank' } }
  await grant(api, api.admin, 'p', connection, 'pay', 'write_with_approval', limits)
  const { json } = await api.call('alice', 'session.create', { body: { profile: 'p' } })
  const session = await api.store.sessions.get(json.id)
  const [binding] = session ? await api.store.bindings.ofSession(session.id) : []
  if (!session || !binding) throw new Error('nothing was bound')
  const { id: bindingId, grantId, hash: bindingHash, tool } = binding
  const execution = { bindingId, grantId, bindingHash, tool }
  const asked = await ask({ session, execution }, connection)
  await keepArguments(asked)
  const shown = await api.call('alice', 'approval.show', idOf(asked))
  expect(shown.json).toMatchObject({
    id: asked.approval.id,
    mayApprove: true,
    arguments: text,
    fixed: ['to'],
    description: 'Pays somebody.',
    notSeparated: false,
    directAccess: 'not_denied',
    identical: [],
    unknown: [],
  })
})

test('it says when nothing stands between the guest and what the call reaches', async () => {
  const session = await openSessionOf(api, api.alice, { isolation: 'none' })
  const { json } = await api.call('alice', 'approval.show', idOf(await ask({ session })))
  expect(json).toMatchObject({ notSeparated: true, arguments: null, fixed: [], description: null })
})

test('identical and unknown calls are shown with it', async () => {
  const writeKey = 'the same'
  const settled = { writeKey, approvalId: null, finishedAt: 1 } as const
  const session = await openSessionOf(api, api.alice)
  const before = await ask({ session, execution: { ...settled, state: 'succeeded' } })
  const unknown = await ask({ session, execution: { state: 'unknown', code: 'outcome_unknown' } })
  const { json } = await api.call(
    'alice',
    'approval.show',
    idOf(await ask({ session, execution: { writeKey } })),
  )
  expect(json.identical).toMatchObject([{ id: before.execution.id, state: 'succeeded' }])
  expect(json.unknown).toMatchObject([{ id: unknown.execution.id, state: 'unknown' }])
})

test('arguments that do not open are not decided on blindly: nothing is shown', async () => {
  const asked = await ask()
  const other = await ask()
  const sealed = api.deps.bodies.seal(other.execution.id, 'arguments', text)
  await api.store.transact((tx) =>
    tx.bodies.insert([{ executionId: asked.execution.id, kind: 'arguments', sealed, dueAt: 9e15 }]),
  )
  const shown = await api.call('alice', 'approval.show', idOf(asked))
  expect([shown.status, shown.json.error.code]).toEqual([500, 'row_unreadable'])
  const row = await api.call('alice', 'execution.show', { params: { id: asked.execution.id } })
  expect(row.json).toMatchObject({ state: 'awaiting_approval', arguments: null })
  expect(api.log.some((line) => line.includes('does not open'))).toBe(true)
})

test('approving and denying answer with the approval as it is then', async () => {
  const asked = await ask()
  const { json } = await api.call('alice', 'approval.approve', {
    ...idOf(asked),
    body: { note: 'go' },
  })
  expect(json).toMatchObject({ state: 'approved', mayApprove: false, mayDeny: false })
  expect(json.decisions).toMatchObject([{ by: 'alice', decision: 'approve', note: 'go' }])
  const again = await api.call('alice', 'approval.deny', idOf(asked))
  expect([again.status, again.json.error.code]).toEqual([409, 'approval_settled'])
  const denied = await api.call('alice', 'approval.deny', idOf(await ask()))
  expect(denied.json).toMatchObject({ state: 'denied', closedAt: expect.any(String) })
  expect(denied.json.decisions).toMatchObject([{ note: null }])
})

test('the token of a session decides nothing: for this API it is nobody', async () => {
  await addProfile(api, 'p')
  const { json } = await api.call('alice', 'session.create', { body: { profile: 'p' } })
  const asked = await ask()
  for (const name of ['approval.approve', 'approval.deny', 'approval.show'] as const) {
    const reply = await as(json.token, name, idOf(asked))
    expect([reply.status, reply.json.error.code]).toEqual([401, 'not_authenticated'])
  }
  expect((await api.store.approvals.get(asked.approval.id))?.state).toBe('pending')
  expect((await as(api.tokens.alice, 'approval.approve', idOf(asked))).status).toBe(200)
})

test('others find nothing; of a personal connection administrators neither', async () => {
  const mine = await anyConnection(api, api.alice, true)
  const approval = { approvers: 'role:member' } as const
  const asked = await ask({ approval }, mine)
  for (const who of ['admin', 'bob'] as const)
    for (const name of ['approval.show', 'approval.approve', 'approval.deny'] as const)
      expect((await api.call(who, name, idOf(asked))).status).toBe(404)
  expect((await carol('approval.show', idOf(asked))).status).toBe(404)
  const own = await api.call('alice', 'approval.show', idOf(asked))
  expect(own.json).toMatchObject({ approvers: 'owner', mayApprove: true })
})

test('bodies of an execution: its owner reads them, an administrator unless the connection is personal', async () => {
  const mine = await anyConnection(api, api.alice, true)
  const shown = async (who: 'admin' | 'alice' | 'bob', { execution }: Asked) =>
    (await api.call(who, 'execution.show', { params: { id: execution.id } })).json.arguments
  const org_ = await ask()
  const personal = await ask({}, mine)
  for (const asked of [org_, personal]) await keepArguments(asked)
  expect([await shown('alice', org_), await shown('admin', org_)]).toEqual([text, text])
  expect([await shown('alice', personal), await shown('admin', personal)]).toEqual([text, null])
  expect(await shown('bob', org_)).toBeUndefined()
})

test('an unknown outcome is resolved once, by name', async () => {
  const unknown = { state: 'unknown', code: 'outcome_unknown', finishedAt: 1 } as const
  const { execution } = await ask({ execution: unknown })
  const params = { id: execution.id }
  const body = { outcome: 'not_applied', note: 'not in the ledger', allowRetry: true }
  expect((await api.call('bob', 'execution.resolve', { params, body })).status).toBe(404)
  const { json } = await api.call('admin', 'execution.resolve', { params, body })
  expect(json).toMatchObject({ state: 'resolved', code: null, caller: null })
  expect(json.resolution).toEqual({ ...body, by: 'admin', at: expect.any(String) })
  const again = await api.call('alice', 'execution.resolve', { params, body })
  expect([again.status, again.json.error.code]).toEqual([409, 'not_unknown'])
  const listed = await api.call('alice', 'execution.list', { query: '?state=resolved' })
  expect(listed.json.items).toMatchObject([{ resolution: { by: 'admin' } }])
})

test('the status and the metrics count what waits for people', async () => {
  await ask()
  await ask({ approval: { state: 'denied', closedAt: 1 } })
  await ask({ execution: { state: 'unknown' }, approval: { state: 'consumed', closedAt: 1 } })
  const { json } = await api.call('alice', 'status.show')
  expect(json).toMatchObject({ pendingApprovals: 1, unknown: 1 })
  const { text: metrics } = await api.send('GET', '/metrics')
  expect(metrics).toContain('\nsallyport_approvals_pending 1\n')
  expect(metrics).toContain('\nsallyport_outcomes_unknown 1\n')
})

test('a session says which one it continues', async () => {
  await addProfile(api, 'p')
  const create = (continues?: string) =>
    api.call('alice', 'session.create', { body: { profile: 'p', continues } })
  const { id } = (await create()).json
  expect((await create(id)).json.error).toMatchObject({
    code: 'session_not_ended',
    field: 'continues',
  })
  await api.call('alice', 'session.end', { params: { id } })
  const next = (await create(id)).json
  const shown = await api.call('alice', 'session.show', { params: { id: next.id } })
  expect(shown.json.continues).toBe(id)
  expect((await create('ses_1')).status).toBe(400)
})

test('unattended writes are granted with a word of their own', async () => {
  await enabledConnection(api, api.admin)
  await addProfile(api, 'p')
  const body = { connection: 'docs', tools: 'put_*', mode: 'write_unattended' }
  const params = { name: 'p' }
  const refused = await api.call('admin', 'profile.grant', { params, body })
  expect([refused.status, refused.json.error]).toMatchObject([
    409,
    { code: 'not_confirmed', field: 'confirmUnattended' },
  ])
  const confirmed = { ...body, confirmUnattended: true }
  expect((await api.call('alice', 'profile.grant', { params, body: confirmed })).status).toBe(403)
  expect((await api.call('admin', 'profile.grant', { params, body: confirmed })).status).toBe(200)
})

test('the doctor finds what keeps bodies from being deleted', async () => {
  const retention = async () => {
    const { json } = await api.call('admin', 'doctor.run')
    return json.items.find(({ id }: { id: string }) => id === 'retention')
  }
  const asked = await ask({ execution: { state: 'succeeded', finishedAt: 1 } })
  await keepArguments(asked, 1)
  expect(await retention()).toMatchObject({ state: 'ok' })
  const executionId = api.deps.ids('execution')
  await api.store.transact((tx) =>
    tx.bodies.insert([{ executionId, kind: 'result', sealed: Buffer.alloc(1), dueAt: 1 }]),
  )
  expect(await retention()).toMatchObject({ state: 'problem', who: 'operator' })
})
