/** A write that was read by its server and not answered: nobody sends it again until a person says what became of it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { eventually } from './eventually.ts'
import { type CallAnswer, type Era, RawGuest } from './raw-guest.ts'

let sallyport: Sallyport
let upstream: CountedUpstream
let first: OpenSession
let second: OpenSession

beforeAll(async () => {
  upstream = await startCountedUpstream()
  sallyport = await startSallyport()
  first = await connectAndGrant(sallyport, {
    name: 'notes',
    url: upstream.url,
    profile: 'asking',
    read: ['look'],
    write: ['store'],
  })
  second = await sallyport.api('session.create', {}, { profile: 'asking' })
})
afterAll(async () => {
  await sallyport?.remove()
  await upstream?.close()
})
beforeEach(() => upstream.upstream.behave())

const callOf = (session: OpenSession, era: Era, id: string): Promise<CallAnswer> =>
  new RawGuest({ endpoint: `${sallyport.guestUrl}/mcp/notes`, token: session.token, era }).call(
    'store',
    `{"id":"${id}"}`,
  )

async function approve(): Promise<void> {
  const { items } = await eventually(
    () => sallyport.api('approval.list', { state: 'pending' }),
    ({ items: waiting }) => waiting.length > 0,
  )
  for (const { id } of items) await sallyport.api('approval.approve', { id }, {})
}

/** Asks for it, lets it be approved, and has the upstream end the connection behind the effect. */
async function becomeUnknown(era: Era, id: string): Promise<string> {
  upstream.upstream.misbehave({ kind: 'cut' }, { method: 'tools/call', times: 1 })
  const answer = callOf(first, era, id)
  await approve()
  const { failure, text } = await answer
  expect(failure?.code).toBe('outcome_unknown')
  const execution = /exe_\w+/.exec(text)?.[0] ?? ''
  expect(await sallyport.api('execution.show', { id: execution })).toMatchObject({
    state: 'unknown',
    arguments: `{"id":"${id}"}`,
  })
  expect(upstream.effects(id)).toBe(1)
  return execution
}

describe.each<Era>(['modern', 'legacy'])('in the %s era', (era) => {
  test('identical calls are refused in every session of the owner, with the id of the one that is unknown', async () => {
    const id = `refused-${era}`
    const execution = await becomeUnknown(era, id)
    for (const session of [first, second]) {
      const { isError, failure, text } = await callOf(session, era, id)
      expect({ isError, code: failure?.code }).toEqual({ isError: true, code: 'outcome_unknown' })
      expect(text).toContain(execution)
    }
    expect(upstream.effects(id)).toBe(1)
    const resolution = { outcome: 'abandoned', note: 'nobody knows' } as const
    await sallyport.api('execution.resolve', { id: execution }, resolution)
  })

  test('what a person found out is told once, and then the call is free', async () => {
    const id = `applied-${era}`
    const execution = await becomeUnknown(era, id)
    await sallyport.api('execution.resolve', { id: execution }, { outcome: 'applied', note: 'x' })
    const told = await callOf(second, era, id)
    expect(told.failure?.code).toBe('resolved_applied')
    expect(told.text).toContain(execution)
    await eventually(
      () => sallyport.api('execution.show', { id: execution }),
      ({ caller }) => caller === 'collected',
    )
    const again = callOf(second, era, id)
    await approve()
    expect(await again).toMatchObject({ isError: false })
    expect(upstream.effects(id)).toBe(2)
  })

  test('not applied and allowed again, it runs once more, with an approval of its own', async () => {
    const id = `again-${era}`
    const execution = await becomeUnknown(era, id)
    await sallyport.api(
      'execution.resolve',
      { id: execution },
      { outcome: 'not_applied', note: 'not there', allowRetry: true },
    )
    const again = callOf(first, era, id)
    await approve()
    expect(await again).toMatchObject({ isError: false, text: 'done' })
    expect(upstream.effects(id)).toBe(2)
    expect(await sallyport.api('execution.show', { id: execution })).toMatchObject({
      state: 'resolved',
      resolution: { outcome: 'not_applied', by: 'admin', note: 'not there', allowRetry: true },
    })
  })
})

test('an answer that comes after its time is kept as evidence, and settles nothing', async () => {
  await sallyport.api('profile.create', {}, { name: 'hasty' })
  const hasty = await connectAndGrant(sallyport, {
    name: 'slow',
    url: upstream.url,
    limits: { callMs: 1_000 },
    profile: 'hasty',
    read: ['look'],
    write: ['store'],
  })
  const call = new RawGuest({
    endpoint: `${sallyport.guestUrl}/mcp/slow`,
    token: hasty.token,
    era: 'modern',
  }).call('store', '{"hold":true,"id":"late"}')
  await approve()
  const execution = /exe_\w+/.exec((await call).text)?.[0] ?? ''
  upstream.release('late')
  const row = await eventually(
    () => sallyport.api('execution.show', { id: execution }),
    ({ notes }) => notes['lateAnswer'] !== undefined,
  )
  expect(row).toMatchObject({ state: 'unknown', notes: { lateAnswer: { status: 200 } } })
  expect(upstream.effects('late')).toBe(1)
})
