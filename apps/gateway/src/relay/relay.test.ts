/** The relay with a guest that keeps to the rules: asking, answering, taking, cancelling. */

import type { CallRequest } from '@sallyport/core'
import { afterEach, expect, test } from 'vitest'
import { eventually, modern, rpc } from '../mcp/scripted-guest.ts'
import { call, messageOf, newId, ping, shim, startWorld, type World } from './relay-world.ts'

let world: World
afterEach(() => world.end())

test('says who it is before anything is asked', async () => {
  world = await startWorld()
  expect(world.has('sallyport.json')).toBe(true)
})

test('answers a request with one file, and removes the request', async () => {
  world = await startWorld()
  const id = world.ask(ping)
  expect(await world.answer(id)).toEqual({
    v: 1,
    status: 200,
    headers: {},
    messages: ['{"jsonrpc":"2.0","id":1,"result":{}}'],
  })
  expect(world.names()).toEqual([`${id}.res.json`])
})

test.each([
  ['{', -32700],
  ['[]', -32600],
  [rpc('no/such'), -32601],
] as const)('the answer to %s is that of the endpoint', async (message, code) => {
  world = await startWorld()
  expect(messageOf(await world.answer(world.ask(message))).error.code).toBe(code)
})

test('a call goes under the id that its shim gave it, in both eras', async () => {
  world = await startWorld()
  const [legacy, later] = [newId(), newId()]
  await world.answer(world.ask(call, { call: legacy }))
  const { headers, body } = modern('tools/call', { name: 'files__write' })
  const answer = messageOf(await world.answer(world.ask(body, { call: later, headers })))
  expect(answer.result.content[0].text).toBe('done')
  expect(world.calls.map(({ callId, era }) => [callId, era])).toEqual([
    [legacy, 'legacy'],
    [later, 'modern'],
  ])
})

test('keeps the id of a legacy session, and knows it again', async () => {
  world = await startWorld()
  const params = { protocolVersion: '2025-11-25', capabilities: {} }
  const { headers } = await world.answer(world.ask(rpc('initialize', params)))
  expect(headers['mcp-session-id']).toMatch(/\./)
  const known = await world.answer(world.ask(ping, { headers }))
  const other = await world.answer(world.ask(ping, { headers: { 'mcp-session-id': 'other' } }))
  expect([known.status, other.status]).toEqual([200, 404])
})

test('an answer is collected when it was taken', async () => {
  world = await startWorld()
  const id = world.ask(call, { call: shim })
  await world.answer(id)
  expect(world.log).toEqual([])
  world.remove(`${id}.res.json`)
  await eventually(() => world.log.length > 0)
  expect(world.log).toEqual([`${shim} collected`])
})

test('an answer that nobody takes is lost after five seconds, and removed after a minute', async () => {
  world = await startWorld()
  const id = world.ask(call, { call: shim })
  await world.answer(id)
  // The file is seen before its writer has heard that it is there; by the next answer it has.
  await world.answer(world.ask(ping))
  world.clock.now += 4_900
  await world.answer(world.ask(ping))
  expect(world.log).toEqual([])
  world.clock.now += 200
  await eventually(() => world.log.length > 0)
  expect(world.log).toEqual([`${shim} lost`])
  expect(world.has(`${id}.res.json`)).toBe(true)
  world.clock.now += 56_000
  await eventually(() => !world.has(`${id}.res.json`))
})

test('an answer that the shim gives back is lost at once', async () => {
  world = await startWorld()
  const id = world.ask(call, { call: shim })
  await world.answer(id)
  world.publish(`${id}.cancel.json`, '{"v":1}')
  await eventually(() => world.log.length > 0)
  expect(world.log).toEqual([`${shim} lost`])
})

test('when another shim begins, what an earlier one has not taken is lost', async () => {
  world = await startWorld()
  const id = world.ask(call, { call: shim })
  await world.answer(id)
  await world.answer(world.ask(ping))
  expect(world.log).toEqual([])
  await world.answer(world.ask(ping, { shim: newId() }))
  await eventually(() => world.log.length > 0)
  expect(world.log).toEqual([`${shim} lost`])
})

/** A core whose calls wait until they are cancelled. */
function waiting() {
  const seen: CallRequest[] = []
  const ended: string[] = []
  const answer = (request: CallRequest) => {
    seen.push(request)
    return new Promise<never>((_resolve, reject) => {
      request.cancelled?.addEventListener('abort', () => {
        ended.push('cancelled')
        reject(new Error('cancelled'))
      })
      request.left?.addEventListener('abort', () => ended.push('left'))
    })
  }
  return { seen, ended, answer }
}

test.each(['legacy', 'modern'] as const)(
  'a cancel file cancels its call at once (%s)',
  async (era) => {
    const { seen, ended, answer } = waiting()
    world = await startWorld({ script: { answer } })
    const asked =
      era === 'modern'
        ? modern('tools/call', { name: 'files__write' }, 7)
        : { headers: {}, body: call }
    const id = world.ask(asked.body, { headers: asked.headers })
    const other = world.ask(asked.body.replace('"id":7', '"id":8'), { headers: asked.headers })
    await eventually(() => seen.length === 2)
    world.publish(`${id}.cancel.json`, '{"v":1}')
    await eventually(() => ended.length > 0)
    expect(ended).toEqual(['cancelled'])
    await eventually(() => world.names().length === 0)
    world.publish(`${other}.cancel.json`, '{"v":1}')
    await eventually(() => ended.length > 1)
  },
)

test('a request whose cancel is there already is never asked', async () => {
  world = await startWorld()
  const id = newId()
  world.publish(`${id}.cancel.json`, '{"v":1}')
  await eventually(() => !world.has(`${id}.cancel.json`))
  world.publish(`${id}.req.json`, JSON.stringify(world.record(call)))
  await world.answer(world.ask(call))
  expect(world.calls).toHaveLength(1)
})

test('what comes before the answer is told in parts, in order', async () => {
  const release: (() => void)[] = []
  world = await startWorld({
    script: {
      answer: async ({ progress }) => {
        progress?.({ intent: 'int_1', progress: 1 })
        await new Promise<void>((resolve) => release.push(resolve))
        return {
          kind: 'result',
          executionId: 'exe_1',
          result: Buffer.from('{}'),
          isError: false,
        } as never
      },
    },
  })
  const params = { name: 'files__write', _meta: { progressToken: 'p' } }
  const id = world.ask(rpc('tools/call', params))
  await eventually(() => world.has(`${id}.0.part.json`))
  expect(world.has(`${id}.res.json`)).toBe(false)
  release[0]?.()
  expect(messageOf(await world.answer(id)).result).toEqual({})
})

test('a stream for changes stays open, and each change is a part', async () => {
  world = await startWorld()
  const id = world.ask('', { method: 'GET' })
  await eventually(() => world.has(`${id}.0.part.json`))
  world.at.endpoint.toolsChanged('all')
  await eventually(() => world.has(`${id}.1.part.json`))
  world.at.endpoint.sessionsEnded(['ses_1' as never])
  expect(await world.answer(id)).toMatchObject({ status: 200, messages: [] })
})

test('shows every half minute that somebody is still at it', async () => {
  const { seen, answer } = waiting()
  world = await startWorld({ script: { answer } })
  const id = world.ask(call)
  await eventually(() => seen.length > 0)
  world.clock.now += 29_000
  await world.answer(world.ask(ping))
  expect(world.has(`${id}.0.part.json`)).toBe(false)
  world.clock.now += 2_000
  await eventually(() => world.has(`${id}.0.part.json`))
  world.publish(`${id}.cancel.json`, '{"v":1}')
})

test('stops with its calls left, and a later reader goes on with the folder', async () => {
  const { seen, ended, answer } = waiting()
  world = await startWorld({ script: { answer } })
  world.ask(call)
  await eventually(() => seen.length > 0)
  await world.reader.stop()
  await eventually(() => ended.length > 0)
  expect(ended).toEqual(['left'])
  expect(world.has('sallyport.json')).toBe(true)
})
