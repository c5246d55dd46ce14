import { afterEach, beforeEach, expect, test } from 'vitest'
import { callRoute } from '../api-client.ts'
import type { Run } from '../run.ts'
import { approval, approvalDetail } from '../testing/sample-approvals.ts'
import { at, ids } from '../testing/sample-ids.ts'
import { ScriptedApi } from '../testing/scripted-api.ts'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { until } from '../testing/until.ts'
import { followApprovals, type News } from './follow.ts'

let api: ScriptedApi
let clock: SteppedClock
let over: AbortController
let news: AsyncGenerator<News>
beforeEach(async () => {
  api = await new ScriptedApi().listen()
  clock = new SteppedClock(Date.parse(at))
  over = new AbortController()
  const gateway = { url: api.url, token: 't', whenUnreachable: 'Nothing answers.' }
  const call: Run['call'] = (name, asked, limits) => callRoute(gateway, name, asked, limits)
  news = followApprovals({ call, world: clock as unknown as Run['world'] }, over.signal)
})
afterEach(async () => {
  over.abort()
  await api.close()
})

const asked = (route: string): number => api.requests.filter((one) => one.route === route).length

/** The next news; lets time pass whenever everything waits for it. */
async function next(): Promise<News | undefined> {
  let found: IteratorResult<News, unknown> | undefined
  let thrown: unknown
  news.next().then(
    (one) => {
      found = one
    },
    (cause) => {
      thrown = cause
    },
  )
  await until(() => {
    clock.step(clock.next ?? 0)
    return found !== undefined || thrown !== undefined
  })
  if (thrown) throw thrown
  return found?.done ? undefined : (found?.value as News)
}

test('tells what there is, then nothing while nothing changes, then what changes', async () => {
  expect(await next()).toEqual({ kind: 'seen', approvals: [approval], gone: [] })
  const changed = { ...approval, caller: 'held_back' }
  const second = { ...approval, id: 'apr_01jd0000000000000000000002' }
  const telling = next()
  await until(() => asked('approval.list') >= 5)
  api.answer('approval.list', { items: [second, changed] })
  expect(await telling).toEqual({ kind: 'seen', approvals: [changed, second], gone: [] })
  expect(asked('approval.show')).toBe(0)
})

test('asks each second', async () => {
  await next()
  const telling = news.next()
  for (const times of [2, 3]) {
    await until(() => clock.next !== undefined)
    expect(clock.next).toBe(1000)
    clock.step(1000)
    await until(() => asked('approval.list') === times)
  }
  over.abort()
  expect(await telling).toMatchObject({ done: true })
})

test('asks what became of those that are not pending any more, until they are over', async () => {
  await next()
  api.answer('approval.list', { items: [] })
  for (const state of ['approved', 'consumed'] as const) {
    api.answer('approval.show', { ...approvalDetail, state })
    const seen = { kind: 'seen', approvals: [{ ...approval, state }], gone: [] }
    expect(await next()).toEqual(seen)
  }
  const before = asked('approval.show')
  const telling = next()
  const lists = asked('approval.list')
  await until(() => asked('approval.list') > lists + 2)
  expect(asked('approval.show')).toBe(before)
  over.abort()
  expect(await telling).toBeUndefined()
})

test('tells of one that is not there any more', async () => {
  await next()
  api.answer('approval.list', { items: [] })
  api.refuse('approval.show', 'not_found')
  expect(await next()).toEqual({ kind: 'seen', approvals: [], gone: [ids.approval] })
})

test('fails at once when the first question fails', async () => {
  api.refuse('approval.list', 'not_authenticated')
  await expect(next()).rejects.toMatchObject({ code: 'not_authenticated' })
})

test('goes on when nothing answers, asks less and less often, and says when it is back', async () => {
  await next()
  api.answer('approval.list', '<html>', 502)
  const pauses: number[] = []
  for (let turn = 0; turn < 7; turn++) {
    const one = await next()
    expect(one).toMatchObject({ kind: 'unreachable', failure: { code: 'unreachable' } })
    if (one?.kind === 'unreachable') pauses.push(one.againInMs)
  }
  expect(pauses).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
  api.answer('approval.list', { items: [approval] })
  expect(await next()).toEqual({ kind: 'seen', approvals: [], gone: [] })
})

test('a change that was seen while something did not answer is told when it answers', async () => {
  await next()
  const second = { ...approval, id: 'apr_01jd0000000000000000000002' }
  api.answer('approval.list', { items: [second] })
  api.refuse('approval.show', 'internal')
  expect(await next()).toMatchObject({ kind: 'unreachable', failure: { code: 'internal' } })
  api.answer('approval.show', { ...approvalDetail, state: 'denied' })
  const seen = { kind: 'seen', approvals: [{ ...approval, state: 'denied' }, second], gone: [] }
  expect(await next()).toEqual(seen)
})

test('gives up a question that is under way when it is over', async () => {
  await next()
  api.hangs = true
  const telling = next()
  await until(() => asked('approval.list') === 2)
  over.abort()
  expect(await telling).toBeUndefined()
})
