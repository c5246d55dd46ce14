/** What the worker says about orders whose results did not come: a fence, and never more than it knows. */
import { afterEach, expect, test } from 'vitest'
import { startUpstream, type Upstream } from '../../../../tests/upstreams/scripted-upstream.ts'
import { Bench } from '../testing/bench.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function start(): Promise<{ upstream: Upstream; bench: Bench }> {
  const upstream = await startUpstream()
  const bench = await Bench.start({ url: upstream.url })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  return { upstream, bench }
}

const write = { access: 'write' } as const

test('a result that was not settled is told again, on any connection, until it is', async () => {
  const { bench } = await start()
  const order = bench.gateway.submit(bench.order('counter_add', { by: 1 }, write))
  const { head, raw } = await bench.gateway.result(order.id)
  bench.gateway.cut()
  const other = await bench.worker.gateway()
  for (let i = 0; i < 2; i++) {
    const recovered = await other.recover(order)
    expect(recovered.head).toEqual({
      intent: order.id,
      instance: other.hello.instance,
      state: 'result',
      result: head,
    })
    expect(recovered.raw).toEqual(raw)
  }
  other.send('settled', { intents: [order.id] })
  expect((await other.recover(order)).head.state).toBe('not_known')
})

test('a call whose connection ended goes on, and its result goes to who asks', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const order = bench.gateway.submit(bench.order('counter_add', { by: 1 }, write))
  await upstream.received('tools/call')
  bench.gateway.cut()
  const other = await bench.worker.gateway()
  const running = await other.recover(order)
  expect(running.head).toEqual({
    intent: order.id,
    instance: other.hello.instance,
    state: 'running',
  })
  upstream.answerHeld()
  expect((await other.result(order.id)).head.verdict).toBe('result')
  expect((await other.recover(order)).head.state).toBe('result')
  expect(upstream.effects).toBe(1)
})

test('what had not left when its connection ended is dropped, committed or not', async () => {
  const { upstream, bench } = await start()
  const uncommitted = bench.gateway.compose(bench.order('counter_add', { by: 1 }, write))
  bench.gateway.sendIntents([uncommitted])
  bench.gateway.sendBody(uncommitted, bench.connection)
  const bodyless = bench.gateway.compose(bench.order('counter_add', { by: 1 }, write))
  bench.gateway.commit(bench.gateway.sendIntents([bodyless]))
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/list' })
  const limits = { resultBytes: 1_000, callMs: 5_000, verifyWithinMs: 0 }
  const verifying = bench.gateway.submit(
    bench.order('counter_add', { by: 1 }, { ...write, limits }),
  )
  await upstream.received('tools/list', 2)
  bench.gateway.cut()
  const other = await bench.worker.gateway()
  upstream.answerHeld()
  for (const order of [uncommitted, bodyless, verifying]) {
    expect((await other.recover(order)).head.state).toBe('never_started')
    const batch = other.sendIntents([order])
    other.sendBody(order, bench.connection)
    other.commit(batch)
    expect((await other.result(order.id)).head.code).toBe('intent_refused')
  }
  expect(upstream.count('tools/call')).toBe(0)
  // The control: another order on the new connection is acted on.
  const { head } = await other.order(bench.order('counter_add', { by: 1 }, write))
  expect(head.verdict).toBe('result')
})

test('asking ends what has not left, whatever connection it came by', async () => {
  const { upstream, bench } = await start()
  const held = bench.gateway.compose(bench.order('counter_add', { by: 1 }, write))
  const batch = bench.gateway.sendIntents([held])
  bench.gateway.sendBody(held, bench.connection)
  bench.gateway.send('ping', { n: 1 })
  await bench.gateway.until(() => bench.gateway.of('pong').length > 0)
  const other = await bench.worker.gateway()
  expect((await other.recover(held)).head.state).toBe('never_started')
  bench.gateway.commit(batch)
  bench.gateway.send('ping', { n: 2 })
  await bench.gateway.until(() => bench.gateway.of('pong').length > 1)
  expect(bench.gateway.of('result').length).toBe(1)
  expect(upstream.count('tools/call')).toBe(0)
})

test('asking spends an id that was not seen yet', async () => {
  const { upstream, bench } = await start()
  const order = bench.gateway.compose(bench.order('counter_add', { by: 1 }, write))
  expect((await bench.gateway.recover(order)).head.state).toBe('never_started')
  const batch = bench.gateway.sendIntents([order])
  bench.gateway.sendBody(order, bench.connection)
  bench.gateway.commit(batch)
  expect((await bench.gateway.result(order.id)).head).toMatchObject({
    verdict: 'not_sent',
    code: 'intent_refused',
  })
  expect((await bench.gateway.recover(order)).head.state).toBe('never_started')
  expect(upstream.count('tools/call')).toBe(0)
})

test('nothing is known of another instance, or of a time before the memory', async () => {
  const { bench } = await start()
  const order = bench.gateway.compose(bench.order('counter_read'))
  const elsewhere = { ...order, aud: 'ins_0123456789abcdefghjkmnpqrs' }
  for (let i = 0; i < 2; i++)
    expect((await bench.gateway.recover(elsewhere)).head.state).toBe('not_known')
  const early = { ...order, id: 'int_early', iat: (bench.gateway.hello.memorySince as number) - 1 }
  for (let i = 0; i < 2; i++)
    expect((await bench.gateway.recover(early)).head.state).toBe('not_known')
  const recent = { ...order, id: 'int_recent' }
  expect((await bench.gateway.recover(recent)).head.state).toBe('never_started')
})

test('a refusal before the first byte is remembered as a result', async () => {
  const { bench } = await start()
  const order = bench.gateway.submit(bench.order('no_such_tool'))
  await bench.gateway.result(order.id)
  const recovered = await bench.gateway.recover(order)
  expect(recovered.head).toMatchObject({
    state: 'result',
    result: { verdict: 'not_sent', code: 'tool_changed' },
  })
})

test('cancelling what has not left wins', async () => {
  const { upstream, bench } = await start()
  const held = bench.gateway.compose(bench.order('counter_add', { by: 1 }, write))
  const batch = bench.gateway.sendIntents([held])
  bench.gateway.sendBody(held, bench.connection)
  bench.gateway.send('cancel', { intent: held.id })
  bench.gateway.commit(batch)
  const cancelled = { verdict: 'not_sent', code: 'call_cancelled' }
  expect((await bench.gateway.result(held.id)).head).toMatchObject(cancelled)
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/list' })
  const limits = { resultBytes: 1_000, callMs: 5_000, verifyWithinMs: 0 }
  const starting = bench.gateway.submit(bench.order('counter_add', { by: 1 }, { ...write, limits }))
  await upstream.received('tools/list', 2)
  bench.gateway.send('cancel', { intent: starting.id })
  expect((await bench.gateway.result(starting.id)).head).toMatchObject(cancelled)
  upstream.answerHeld()
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
  expect(upstream.effects).toBe(0)
})

test('a thousand calls may be in flight, and no more', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const orders = Array.from({ length: 1_001 }, () =>
    bench.gateway.compose(bench.order('counter_read')),
  )
  const batch = bench.gateway.sendIntents(orders)
  for (const order of orders) bench.gateway.sendBody(order, bench.connection)
  bench.gateway.commit(
    batch,
    orders.map((_, index) => index),
  )
  const last = orders.at(-1)?.id as string
  expect((await bench.gateway.result(last)).head).toMatchObject({
    verdict: 'not_sent',
    code: 'worker_busy',
  })
  upstream.behave()
  upstream.answerHeld()
  const first = orders[0]?.id as string
  expect((await bench.gateway.result(first)).head.verdict).toBe('result')
})
