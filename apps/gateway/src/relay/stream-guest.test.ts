/** Requests side by side on one stream, with a guest that keeps to the rules and with one that does not. */
import { Duplex, duplexPair } from 'node:stream'
import type { CallOutcome, CallRequest } from '@sallyport/core'
import { release } from '@sallyport/protocol'
import { type RequestRecord, recordVersion } from '@sallyport/protocol/shim'
import { afterEach, expect, test } from 'vitest'
import { boundTool, result, type ScriptedEndpoint, startScripted } from '../mcp/scripted-core.ts'
import { eventually } from '../mcp/scripted-guest.ts'
import { InnerDoor } from './inner-door.ts'
import { call, newId, ping, shim } from './relay-world.ts'
import { StreamGuest } from './stream-guest.ts'

let at: ScriptedEndpoint
afterEach(() => at.close())

// biome-ignore lint/suspicious/noExplicitAny: tests look into it
type Line = any

/** The guest's end. Calls are answered when they are released. */
async function start(limit = 4_194_304) {
  const log: string[] = []
  const pending: ((outcome: CallOutcome) => void)[] = []
  const answer = ({ callId, left }: CallRequest): Promise<CallOutcome> => {
    left?.addEventListener('abort', () => log.push(`${callId} left`))
    const tell = (what: string) => () => void log.push(`${callId} ${what}`)
    const delivery = { collected: tell('collected'), lost: tell('lost') }
    const done = { ...result({ content: [] }), delivery } as CallOutcome
    return new Promise((resolve) => pending.push(() => resolve(done)))
  }
  const tools = [boundTool({ name: 'write', access: 'write' })]
  at = await startScripted({ tools, answer, options: { release } })
  const [near, far] = duplexPair()
  new StreamGuest(far, {
    door: new InnerDoor(at.endpoint.handleOf('ses_1' as never)),
    now: () => at.clock.now,
    limit: () => limit,
    self: () => ({ v: 1, release, gateway: 'g1', at: at.clock.now, waitMs: 60_000 }),
  })
  let text = ''
  near.on('data', (chunk) => {
    text += chunk
  })
  const lines = (): Line[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const write = (line: object): void => void near.write(`${JSON.stringify(line)}\n`)
  const ask = (message: string, more: Partial<RequestRecord> = {}): string => {
    const id = newId()
    const own = { v: recordVersion, release, shim, call: newId(), at: at.clock.now }
    write({ req: id, ...own, method: 'POST', path: '/mcp', headers: {}, message, ...more })
    return id
  }
  const last = async (id: string): Promise<Line> => {
    const isIt = ({ res }: Line) => res === id
    await eventually(() => lines().some(isIt))
    return lines().find(isIt)
  }
  return { near, lines, write, ask, last, log, release: () => pending.shift()?.({} as never) }
}

test('says who it is when it is asked, and answers requests side by side', async () => {
  const { write, ask, lines, last, release } = await start()
  write({ ask: shim })
  await eventually(() => lines().length === 1)
  expect(lines()[0]).toMatchObject({ to: shim, v: 1, gateway: 'g1', at: at.clock.now })
  const slow = ask(call)
  const quick = ask(ping)
  expect(await last(quick)).toMatchObject({
    status: 200,
    messages: ['{"jsonrpc":"2.0","id":1,"result":{}}'],
  })
  expect(
    lines()
      .filter(({ read }) => read)
      .map(({ read }) => read),
  ).toEqual([slow, quick])
  await eventually(() => at.calls.length === 1)
  release()
  expect(await last(slow)).toMatchObject({ status: 200 })
})

test('an answer is collected when it was taken, and lost when it was given back', async () => {
  const { write, ask, last, log, release } = await start()
  for (const [n, word] of ['taken', 'cancel'].entries()) {
    const name = newId()
    const id = ask(call, { call: name })
    await eventually(() => at.calls.length === n + 1)
    release()
    await last(id)
    write({ [word]: id })
    await eventually(() => log.length === n + 1)
    expect(log[n]).toBe(`${name} ${word === 'taken' ? 'collected' : 'lost'}`)
  }
})

test('when the stream ends, calls have lost their caller, and what was not taken is lost', async () => {
  const { near, ask, last, log, release } = await start()
  const [answered, open] = [newId(), newId()]
  const id = ask(call, { call: answered })
  await eventually(() => at.calls.length === 1)
  release()
  await last(id)
  ask(call, { call: open })
  await eventually(() => at.calls.length === 2)
  near.end()
  await eventually(() => log.length === 2)
  expect(log.toSorted()).toEqual([`${answered} lost`, `${open} left`].toSorted())
})

test('another shim on the same stream takes the place of the one before', async () => {
  const { write, ask, log } = await start()
  const name = newId()
  ask(call, { call: name })
  await eventually(() => at.calls.length === 1)
  write({ ask: shim })
  write({ ask: newId() })
  await eventually(() => log.length > 0)
  expect(log).toEqual([`${name} left`])
})

test.each([
  'nonsense',
  '{"req":"x"}',
  '{"req":',
  'null',
  '[]',
  '{"taken":"../../x"}',
  '{"part":1}',
])('a line that is nothing is skipped, and the next one counts: %j', async (line) => {
  const { near, ask, last, lines } = await start()
  near.write(`${line}\n`)
  expect(await last(ask(ping))).toMatchObject({ status: 200 })
  expect(lines()).toHaveLength(2)
})

test('half a line of one shim does not take the next one along', async () => {
  const { near, ask, last } = await start()
  near.write(`{"req":"${newId()}","message":"half`)
  near.write('\n')
  expect(await last(ask(ping))).toMatchObject({ status: 200 })
  expect(at.calls).toEqual([])
})

test('a request over the limit is refused by its name, however long it is', async () => {
  const { ask, last } = await start(1_000)
  for (const size of [1_001, 100_000, 1_000_000])
    expect(await last(ask('x'.repeat(size)))).toMatchObject({ status: 413 })
  expect(await last(ask(ping.padEnd(1_000)))).toMatchObject({ status: 200 })
})

test('a request that is old is not asked', async () => {
  const { ask, last } = await start()
  expect(await last(ask(call, { at: at.clock.now - 61_000 }))).toMatchObject({ status: 409 })
  expect(at.calls).toEqual([])
})

test('a guest that reads nothing is cut off when too much waits for it', async () => {
  const { near, ask } = await start()
  near.pause()
  const large = JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(1_000_000), method: 'ping' })
  for (let n = 0; n < 20 && !near.destroyed; n++) {
    ask(large)
    await new Promise((resolve) => setImmediate(resolve))
  }
  let isClosed = false
  near.once('close', () => {
    isClosed = true
  })
  near.resume()
  await eventually(() => isClosed || near.destroyed || near.readableEnded)
})

test('a guest that breaks off while it is waited for is nobody’s failure', async () => {
  at = await startScripted({ options: { release } })
  const failures: unknown[] = []
  const hear = (reason: unknown): void => void failures.push(reason)
  process.on('unhandledRejection', hear)
  // It takes nothing of what is written.
  const stream = new Duplex({ writableHighWaterMark: 1, read: () => {}, write: () => {} })
  new StreamGuest(stream, {
    door: new InnerDoor(at.endpoint.handleOf('ses_1' as never)),
    now: () => at.clock.now,
    limit: () => 1024,
    self: () => ({ v: 1, release, gateway: 'g1', at: at.clock.now, waitMs: 60_000 }),
  })
  stream.push(`${JSON.stringify({ ask: newId() })}\n`)
  await eventually(() => stream.writableNeedDrain)
  stream.destroy(new Error('EPIPE'))
  await new Promise((resolve) => setTimeout(resolve, 20))
  process.off('unhandledRejection', hear)
  expect(failures).toEqual([])
})

test('a guest that is waited for again and again leaves nothing behind each time', async () => {
  at = await startScripted({ options: { release } })
  let taken = (): void => {}
  const stream = new Duplex({
    writableHighWaterMark: 1,
    read: () => {},
    write: (_chunk, _encoding, done) => {
      taken = done
    },
  })
  new StreamGuest(stream, {
    door: new InnerDoor(at.endpoint.handleOf('ses_1' as never)),
    now: () => at.clock.now,
    limit: () => 1024,
    self: () => ({ v: 1, release, gateway: 'g1', at: at.clock.now, waitMs: 60_000 }),
  })
  const listening = () => stream.eventNames().map((name) => [name, stream.listenerCount(name)])
  const before = listening()
  for (let time = 0; time < 5; time++) {
    stream.push(`${JSON.stringify({ ask: newId() })}\n`)
    await eventually(() => stream.writableNeedDrain)
    taken()
    await eventually(() => !stream.writableNeedDrain)
  }
  expect(listening()).toEqual(before)
  stream.destroy()
})
