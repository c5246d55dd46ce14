/** A write shows the upstream by what it may be known again; a read does not. */
import { afterEach, expect, test } from 'vitest'
import {
  startUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../../../../tests/upstreams/scripted-upstream.ts'
import { Bench } from '../testing/bench.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function start(options: UpstreamOptions): Promise<{ upstream: Upstream; bench: Bench }> {
  const upstream = await startUpstream(options)
  const bench = await Bench.start({ url: upstream.url })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  return { upstream, bench }
}

const executionId = 'exe_0123456789abcdefghjkmnpqrs'
const write = { access: 'write', executionId } as const
const key = 'dev.sallyport/idempotency-key'
const eras = ['legacy', 'modern'] as const

function lastCall(upstream: Upstream) {
  const sent = upstream.requests.findLast(({ method }) => method === 'tools/call')
  const body = sent?.body as { params: { _meta?: Record<string, unknown> } } | undefined
  return { meta: body?.params._meta, headers: sent?.headers ?? {} }
}

test.each(eras)('%s: a write shows its execution id in _meta and as a header', async (era) => {
  const { upstream, bench } = await start({ era })
  await bench.call('counter_add', { by: 1 }, write)
  const { meta, headers } = lastCall(upstream)
  expect(meta?.[key]).toBe(executionId)
  expect(headers['idempotency-key']).toBe(`"${executionId}"`)
})

test.each(eras)('%s: a write whose progress is wanted shows both', async (era) => {
  const { upstream, bench } = await start({ era })
  await bench.call('counter_add', { by: 1 }, { ...write, progress: true })
  expect(lastCall(upstream).meta).toMatchObject({
    [key]: executionId,
    progressToken: expect.any(Number),
  })
})

test.each(eras)('%s: a read shows neither', async (era) => {
  const { upstream, bench } = await start({ era })
  await bench.call('counter_read', {}, { ...write, access: 'read' })
  const { meta, headers } = lastCall(upstream)
  expect(meta?.[key]).toBeUndefined()
  expect(headers).not.toHaveProperty('idempotency-key')
})

test.each(eras)('%s: a server that knows the key answers as it did, and acts once', async (era) => {
  const { upstream, bench } = await start({ era, dedup: 'answer' })
  upstream.misbehave({ kind: 'cut' }, { method: 'tools/call', times: 1 })
  const cut = await bench.call('counter_add', { by: 1 }, write)
  expect(cut.head.verdict).toBe('uncertain')
  const value = upstream.state.counter
  const again = await bench.call('counter_add', { by: 1 }, write)
  expect(JSON.parse(again.raw.toString()).content).toEqual([{ type: 'text', text: String(value) }])
  expect([upstream.effects, upstream.repeats, upstream.count('tools/call')]).toEqual([1, 1, 2])
  // The control: another execution is another key.
  await bench.call('counter_add', { by: 1 }, { access: 'write' })
  expect([upstream.effects, upstream.repeats]).toEqual([2, 1])
})

test.each(eras)('%s: a server that refuses a used key is told as it answered', async (era) => {
  const { upstream, bench } = await start({ era, dedup: 'refuse' })
  expect((await bench.call('counter_add', { by: 1 }, write)).head.rpcError).toBeUndefined()
  const again = await bench.call('counter_add', { by: 1 }, write)
  expect(again.head).toMatchObject({ verdict: 'result', rpcError: true })
  expect(JSON.parse(again.raw.toString()).message).toBe('that key was used')
  expect(upstream.effects).toBe(1)
})

test('a write without an execution id is not sent', async () => {
  const { upstream, bench } = await start({})
  const order = { access: 'write', executionId: undefined }
  expect((await bench.call('counter_add', { by: 1 }, order)).head).toMatchObject({
    verdict: 'not_sent',
    code: 'intent_refused',
  })
  expect(upstream.count('tools/call')).toBe(0)
  expect((await bench.call('counter_read', {}, { executionId: undefined })).head.verdict).toBe(
    'result',
  )
})
