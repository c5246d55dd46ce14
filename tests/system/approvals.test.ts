/** Writes that wait for a person, through the whole program: guest endpoint, API, worker, upstream, journal. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { eventually } from './eventually.ts'
import { type Era, RawGuest } from './raw-guest.ts'

let sallyport: Sallyport
let upstream: CountedUpstream
let session: OpenSession
let brief: OpenSession

const spec = { read: ['look'], write: ['store'] } as const

beforeAll(async () => {
  upstream = await startCountedUpstream()
  sallyport = await startSallyport()
  const connection = { name: 'notes', url: upstream.url, ...spec }
  session = await connectAndGrant(sallyport, { ...connection, profile: 'asking' })
  await sallyport.api('profile.create', {}, { name: 'brief', settings: { holdSeconds: 1 } })
  await sallyport.api(
    'profile.grant',
    { name: 'brief' },
    { connection: 'notes', tools: 'store', mode: 'write_with_approval' },
  )
  brief = await sallyport.api('session.create', {}, { profile: 'brief' })
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
})

const guestOf = ({ token }: OpenSession, era: Era): RawGuest =>
  new RawGuest({ endpoint: `${sallyport.guestUrl}/mcp/notes`, token, era })

/** Waits until somebody asks for the write with that id. */
const approvalOf = async (wanted: string) => {
  const { items } = await eventually(
    () => sallyport.api('approval.list', { state: 'pending' }),
    ({ items: pending }) => pending.length > 0,
  )
  const details = await Promise.all(items.map(({ id }) => sallyport.api('approval.show', { id })))
  const found = details.find(({ arguments: text }) => text?.includes(`"${wanted}"`))
  if (!found) throw new Error(`nobody asks for ${wanted}`)
  return found
}

describe.each<Era>(['modern', 'legacy'])('in the %s era', (era) => {
  test('a write is sent once, after a person approved exactly its arguments', async () => {
    const id = `approved-${era}`
    const answer = guestOf(session, era).call('store', `{ "id": "${id}" }`)
    const approval = await approvalOf(id)
    expect(approval).toMatchObject({
      state: 'pending',
      requester: 'admin',
      tool: 'store',
      arguments: `{"id":"${id}"}`,
      mayApprove: true,
      caller: 'attached',
    })
    expect(upstream.effects(id)).toBe(0)
    await sallyport.api('approval.approve', { id: approval.id }, { note: 'go on' })
    expect(await answer).toMatchObject({ isError: false, text: 'done' })
    expect(upstream.effects(id)).toBe(1)
    expect(await sallyport.api('approval.show', { id: approval.id })).toMatchObject({
      state: 'consumed',
    })
    const row = await eventually(
      () => sallyport.api('execution.show', { id: approval.executionId }),
      ({ caller }) => caller === 'collected',
    )
    expect(row).toMatchObject({ state: 'succeeded', approvalId: approval.id })
    expect(row.arguments).toBe(`{"id":"${id}"}`)
    expect(row.result).toContain('done')
  })

  test('a denied write is told so, with what to do, and nothing is sent', async () => {
    const id = `denied-${era}`
    const answer = guestOf(session, era).call('store', `{"id":"${id}"}`)
    const approval = await approvalOf(id)
    await sallyport.api('approval.deny', { id: approval.id }, {})
    const { isError, failure, text } = await answer
    expect({ isError, code: failure?.code }).toEqual({ isError: true, code: 'approval_denied' })
    expect(text).toMatch(/denied.*Nothing was sent/s)
    expect(upstream.effects(id)).toBe(0)
  })

  test('past the hold it is told to come again, and the same call collects what became of it', async () => {
    const id = `later-${era}`
    const call = (): ReturnType<RawGuest['call']> =>
      guestOf(brief, era).call('store', `{"id":"${id}"}`)
    const waiting = await call()
    expect(waiting.text).toMatch(/wait/i)
    expect(upstream.effects(id)).toBe(0)
    const approval = await approvalOf(id)
    const again = era === 'modern' ? call() : undefined
    if (again)
      await eventually(
        () => sallyport.api('approval.show', { id: approval.id }),
        ({ caller }) => caller === 'attached',
      )
    await sallyport.api('approval.approve', { id: approval.id }, {})
    // In the eras before 2026-07-28 the call goes on without its caller.
    if (!again) await upstream.began(id)
    const collected = await (again ?? call())
    expect(collected.isError).toBe(false)
    expect(collected.text).toMatch(/done.*earlier/s)
    expect(upstream.effects(id)).toBe(1)
    expect((await sallyport.api('approval.show', { id: approval.id })).state).toBe('consumed')
  })
})

test('a gateway that is killed while a person is asked sends nothing twice and loses nothing', async () => {
  const id = 'killed'
  const first = guestOf(session, 'legacy')
    .call('store', `{"id":"${id}"}`)
    .catch(() => 'cut off')
  const approval = await approvalOf(id)
  await sallyport.kill()
  expect(await first).toBe('cut off')
  await sallyport.restart()
  await sallyport.api('approval.approve', { id: approval.id }, {})
  await upstream.began(id)
  const collected = await guestOf(session, 'legacy').call('store', `{"id":"${id}"}`)
  expect(collected.text).toMatch(/done.*earlier/s)
  expect(upstream.effects(id)).toBe(1)
})

test('a guest token decides nothing', async () => {
  const outcome = guestOf(session, 'legacy').call('store', '{"id":"own-approval"}')
  const { id } = await approvalOf('own-approval')
  const answer = await fetch(`${sallyport.url}/api/v1/approvals/${id}/approve`, {
    method: 'POST',
    headers: { authorization: `Bearer ${session.token}`, 'content-type': 'application/json' },
    body: '{}',
  })
  expect(answer.status).toBe(401)
  expect(upstream.effects('own-approval')).toBe(0)
  await sallyport.api('approval.deny', { id }, {})
  expect((await outcome).failure?.code).toBe('approval_denied')
})
