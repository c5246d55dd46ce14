/** One person, two gateways on one Postgres: what is decided at one is known at the other at once. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { eventually } from './eventually.ts'
import { type Era, RawGuest } from './raw-guest.ts'

const rounds = 100
const medianWithinMs = 200

let postgres: RunningPostgres
let folder: string
let upstream: CountedUpstream
let first: Sallyport
let second: Sallyport
let session: OpenSession

const start = (): Promise<Sallyport> =>
  startSallyport({
    args: ['--database', postgres.url, '--data-key-file', join(folder, 'data.key')],
    env: { SALLYPORT_VAULT_KEY_FILE: join(folder, 'vault.key') },
  })

beforeAll(async () => {
  postgres = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'sallyport-two-'))
  upstream = await startCountedUpstream()
  first = await start()
  second = await start()
  session = await connectAndGrant(first, {
    name: 'notes',
    url: upstream.url,
    profile: 'asking',
    read: ['look'],
    write: ['store'],
  })
})
afterAll(async () => {
  await Promise.all([first?.remove(), second?.remove()])
  await upstream?.close()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const guestAt = (at: Sallyport, era: Era): RawGuest =>
  new RawGuest({ endpoint: `${at.guestUrl}/mcp/notes`, token: session.token, era })

async function pendingAt(at: Sallyport): Promise<string> {
  const { items } = await eventually(
    () => at.api('approval.list', { state: 'pending' }),
    ({ items: pending }) => pending.length > 0,
  )
  return items[0]?.id ?? ''
}

test('a call that is held at one gateway goes on at once when it is approved at the other', async () => {
  const took: number[] = []
  for (let round = 0; round < rounds; round++) {
    const id = `held-${round}`
    const answer = guestAt(second, round % 2 === 0 ? 'modern' : 'legacy')
      .call('store', `{"id":"${id}"}`)
      .then((outcome) => ({ outcome, at: performance.now() }))
    const approval = await pendingAt(first)
    await first.api('approval.approve', { id: approval }, {})
    const decided = performance.now()
    const { outcome, at } = await answer
    expect(outcome).toMatchObject({ isError: false })
    expect(upstream.effects(id)).toBe(1)
    took.push(at - decided)
  }
  took.sort((a, b) => a - b)
  const median = took[rounds / 2] ?? Number.POSITIVE_INFINITY
  console.info(
    `from the approval to the answer: median ${median.toFixed(1)} ms, worst ${took.at(-1)?.toFixed(1)} ms`,
  )
  expect(median).toBeLessThan(medianWithinMs)
})

test('when both decide at one moment, one decision counts and the other is told so', async () => {
  const answer = guestAt(second, 'modern').call('store', '{"id":"raced"}')
  const id = await pendingAt(first)
  const decisions = await Promise.allSettled([
    first.api('approval.approve', { id }, {}),
    second.api('approval.deny', { id }, {}),
  ])
  expect(decisions.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const isApproved = decisions[0]?.status === 'fulfilled'
  expect((await answer).isError).toBe(!isApproved)
  expect(upstream.effects('raced')).toBe(isApproved ? 1 : 0)
})

test('the token of the guest decides nothing at either of them', async () => {
  const answer = guestAt(first, 'modern').call('store', '{"id":"own"}')
  const id = await pendingAt(second)
  const headers = { authorization: `Bearer ${session.token}`, 'content-type': 'application/json' }
  for (const at of [first, second])
    for (const decision of ['approve', 'deny']) {
      const url = `${at.url}/api/v1/approvals/${id}/${decision}`
      expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(401)
    }
  expect(await second.api('approval.show', { id })).toMatchObject({ state: 'pending' })
  expect(upstream.effects('own')).toBe(0)
  await second.api('approval.approve', { id }, {})
  expect(await answer).toMatchObject({ isError: false })
  expect(upstream.effects('own')).toBe(1)
})

test('a call whose gateway died goes on at the other when it is approved, and is collected there', async () => {
  const answer = guestAt(first, 'legacy')
    .call('store', '{"id":"orphan"}')
    .catch(() => 'cut off')
  const id = await pendingAt(second)
  await first.kill()
  expect(await answer).toBe('cut off')
  await eventually(
    () => second.api('approval.show', { id }),
    ({ caller }) => caller === 'detached',
    25_000,
  )
  await second.api('approval.approve', { id }, {})
  await upstream.began('orphan')
  const collected = await guestAt(second, 'legacy').call('store', '{"id":"orphan"}')
  expect(collected.text).toMatch(/done.*earlier/s)
  expect(upstream.effects('orphan')).toBe(1)
  await first.restart()
}, 60_000)
