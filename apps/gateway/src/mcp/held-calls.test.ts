/** Calls that wait for a person or an identical call, and what their guests see of it, in both eras. */
import type { CallOutcome, CallRequest, Toolset } from '@sallyport/core'
import { afterEach, expect, test, vi } from 'vitest'
import {
  boundTool,
  result,
  type Script,
  type ScriptedEndpoint,
  startScripted,
  textResult,
  toolsetOf,
} from './scripted-core.ts'
import { bareCall, eventually, modern, openStream, rpc, send } from './scripted-guest.ts'

let at: ScriptedEndpoint
afterEach(() => {
  vi.restoreAllMocks()
  return at.close()
})

const eras = ['legacy', 'modern'] as const
type Era = (typeof eras)[number]
const waiting = { kind: 'waiting', executionId: 'exe_1', for: 'person' } as unknown as CallOutcome

/** Calls are held, once, until the test answers them. */
async function startHeld(options: Script['options'] = {}) {
  const held: ((outcome: CallOutcome) => void)[] = []
  const answer = (call: CallRequest) => {
    call.held?.()
    return new Promise<CallOutcome>((resolve) => held.push(resolve))
  }
  at = await startScripted({ options, answer })
  return held
}

function request(era: Era, _meta: object = {}) {
  const params = { name: 'files__read', _meta }
  return era === 'modern'
    ? modern('tools/call', params, 7)
    : { headers: {}, body: rpc('tools/call', params, 7) }
}

const soon = { timing: { openStreamAfterMs: 60_000, keepAliveMs: 20 } }

test.each(eras)(
  'a held call (%s) opens its stream at once and shows signs of life',
  async (era) => {
    const held = await startHeld(soon)
    const { res, events } = await openStream(at, request(era))
    expect([res.statusCode, res.headers['content-type']]).toEqual([200, 'text/event-stream'])
    await events.until(({ comments }) => comments >= 3)
    expect(events.messages).toEqual([])
    held[0]?.(textResult('late'))
    await events.until(({ isEnded }) => isEnded)
    expect(events.messages).toMatchObject([{ id: 7, result: { content: [{ text: 'late' }] } }])
  },
)

test.each(eras)('a held call (%s) shows rising progress where it gave a token', async (era) => {
  const held = await startHeld(soon)
  const { events } = await openStream(at, request(era, { progressToken: 't' }))
  await events.until(({ messages }) => messages.length >= 3)
  expect(events.comments).toBe(0)
  const values = events.messages.map(
    (message) => (message as { params: { progress: number } }).params.progress,
  )
  expect(values).toEqual([...new Set(values)].sort((a, b) => a - b))
  held[0]?.(textResult('late'))
  await events.until(({ isEnded }) => isEnded)
})

test('a call may be held again and again, and after its answer, without an effect', async () => {
  at = await startScripted({
    options: soon,
    answer: async (call) => {
      for (let n = 0; n < 3; n++) call.held?.()
      return textResult('done')
    },
  })
  const held = await send(at, { body: request('legacy').body })
  expect(held.text.match(/event: message/g)).toHaveLength(1)
  expect(held.headers['content-type']).toBe('text/event-stream')
  at.calls[0]?.held?.()
  const json = { accept: 'application/json' }
  expect((await send(at, { ...request('legacy'), headers: json })).json.result.content).toEqual([
    { type: 'text', text: 'done' },
  ])
  expect(at.reports).toEqual([])
})

/** Counts the timers that are started from now on, until the test ends. */
function startedTimers(): () => number {
  const spies = (['setTimeout', 'setInterval'] as const).map((name) => vi.spyOn(globalThis, name))
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
}

test.each(eras)('a call (%s) whose guest left before it began starts no timer', async (era) => {
  const tool = boundTool()
  const begin: ((toolset: Toolset) => void)[] = []
  const of = () => new Promise<Toolset>((resolve) => begin.push(resolve))
  const options = { toolsets: { of, callable: async () => [] }, timing: { closeMs: 0 } }
  at = await startScripted({ options, answer: () => new Promise(() => {}) })
  const socket = await bareCall(at, era)
  await eventually(() => begin.length === 1)
  socket.destroy()
  await eventually(() => at.connections() === 0)
  const timers = startedTimers()
  begin[0]?.(toolsetOf([tool]))
  await new Promise(setImmediate)
  expect(at.calls.map(({ left }) => left?.aborted)).toEqual([true])
  expect(timers()).toBe(0)
})

test.each(eras)('a held call (%s) whose guest has left opens nothing', async (era) => {
  const calls: CallRequest[] = []
  at = await startScripted({
    answer: (call) => {
      calls.push(call)
      return new Promise(() => {})
    },
    options: { timing: { closeMs: 0 } },
  })
  const socket = await bareCall(at, era)
  await eventually(() => calls.length === 1)
  socket.destroy()
  await eventually(() => calls[0]?.left?.aborted === true)
  const timers = startedTimers()
  calls[0]?.held?.()
  expect(timers()).toBe(0)
  expect(at.reports).toEqual([])
})

test.each(eras)('a held call (%s) of a guest that takes no events gets one body', async (era) => {
  const held = await startHeld(soon)
  const { headers, body } = request(era)
  const json = { ...headers, accept: 'application/json' }
  const answer = send(at, { headers: json, body })
  await eventually(() => held.length === 1)
  held[0]?.(waiting)
  const { headers: got, json: message } = await answer
  expect(got['content-type']).toBe('application/json')
  expect(message.result.structuredContent.waiting.for).toBe('person')
})

test.each(eras)('a held call (%s) is answered as waiting when the endpoint closes', async (era) => {
  const held = await startHeld(soon)
  const { events } = await openStream(at, request(era))
  await eventually(() => held.length === 1)
  const closed = at.endpoint.close()
  const late = await send(at, request(era))
  expect([late.status, late.json.error.code]).toEqual([503, -32603])
  held[0]?.(waiting)
  await closed
  await events.until(({ isEnded }) => isEnded)
  const [answer] = events.messages as { result: { isError?: boolean; content: unknown } }[]
  expect(answer?.result.isError).toBeUndefined()
  expect(JSON.stringify(answer?.result.content)).toContain('waiting: ')
})

test.each(eras)(
  'an outcome of an earlier call (%s) says so beside the bytes of the upstream',
  async (era) => {
    const raw = '{"content":[{"type":"text","text":"1.0"}],"structuredContent":{"n":1.0}}'
    const earlier = { finishedAt: 1_800_000_000_000 }
    at = await startScripted({
      answer: () => ({ ...result(Buffer.from(raw)), earlier }) as CallOutcome,
    })
    const { text } = await send(at, request(era))
    const [before, after] = raw.split('],') as [string, string]
    const type = era === 'modern' ? '"resultType":"complete",' : ''
    expect(
      text.startsWith(`{"jsonrpc":"2.0","id":7,"result":{${type}${before.slice(1)},{"type"`),
    ).toBe(true)
    expect(text.endsWith(`],${after}}`)).toBe(true)
    expect(JSON.parse(text).result.content[1].text).toMatch(
      /^This is the outcome of an identical earlier call/,
    )
  },
)
