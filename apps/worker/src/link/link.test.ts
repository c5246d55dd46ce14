/** The connection to gateways: where it listens, and that one gateway does not disturb another. */
import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { startUpstream } from '../../../../tests/upstreams/scripted-upstream.ts'
import { Bench } from '../testing/bench.ts'
import { ScriptedGateway, sealForTest } from '../testing/scripted-gateway.ts'
import { authority, identity, WorkerUnderTest } from '../testing/worker-under-test.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

test('listens on TCP with the same certificates', async () => {
  const worker = new WorkerUnderTest({ place: { host: '127.0.0.1', port: 0 } })
  const address = await worker.worker.start()
  open.push({ close: () => worker.stop() })
  const port = Number(/^127\.0\.0\.1:(\d+)$/.exec(address)?.[1])
  const authorityPem = authority.certificatePem
  const dial = (role: 'gateway' | 'operator') =>
    ScriptedGateway.connect({
      address: { host: '127.0.0.1', port },
      identity: identity(role),
      authorityPem,
    })
  const gateway = await dial('gateway')
  expect(gateway.hello.role).toBe('worker')
  gateway.cut()
  await expect(dial('operator')).rejects.toThrow()
})

test('a renewed certificate is shown from the next connection on; who is there stays', async () => {
  const upstream = await startUpstream()
  const bench = await Bench.start({ url: upstream.url })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const { certificatePem: cert, privateKeyPem: key } = identity('gateway')
      const trust = {
        cert,
        key,
        ca: authority.certificatePem,
        checkServerIdentity: () => undefined,
      }
      const socket = connect({ path: bench.worker.path, ...trust }, () => {
        resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '')
        socket.destroy()
      }).on('error', reject)
    })
  const before = await shown()
  const next = identity('worker')
  bench.worker.worker.renew(next)
  expect(await shown()).toBe(new X509Certificate(next.certificatePem).fingerprint256)
  expect(await shown()).not.toBe(before)
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
  expect(() =>
    bench.worker.worker.renew({ ...next, privateKeyPem: identity('worker').privateKeyPem }),
  ).toThrow()
  expect(await shown()).toBe(new X509Certificate(next.certificatePem).fingerprint256)
  // A role that is no gateway's is let in no more than before.
  await expect(
    ScriptedGateway.connect({
      address: { path: bench.worker.path },
      identity: identity('operator'),
      authorityPem: authority.certificatePem,
    }),
  ).rejects.toThrow()
})

test('an upstream where a gateway listens is not called, and is when that gateway is gone', async () => {
  const upstream = await startUpstream()
  const bench = await Bench.start({ url: upstream.url })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  const ownListeners = [{ host: '0.0.0.0', port: upstream.port }]
  const hello = { instance: 'ins_other', ownListeners }
  const before = await bench.worker.gateway({ hello })
  const now = await bench.worker.gateway({ hello })
  const gone = () => bench.worker.log.split('gateway_disconnected').length - 1
  const connection = sealForTest({ url: upstream.url, key: bench.worker.key })
  const blocked = { verdict: 'not_sent', code: 'upstream_blocked_address' }
  expect((await bench.gateway.order({ connection })).head).toMatchObject(blocked)
  // An older connection of a gateway may end after the next one has begun.
  before.cut()
  await expect.poll(gone).toBe(1)
  expect((await bench.gateway.order({ connection })).head).toMatchObject(blocked)
  now.cut()
  await expect.poll(gone).toBe(2)
  expect((await bench.gateway.order({ connection })).head.verdict).toBe('result')
})

test('a result that does not fit any more is told without its body', async () => {
  const upstream = await startUpstream({ era: 'legacy' })
  const bench = await Bench.start({ url: upstream.url })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  const limits = { resultBytes: 30_000_000, callMs: 10_000, verifyWithinMs: 300_000 }
  const orders = []
  for (let i = 0; i < 3; i++) {
    const order = bench.gateway.submit(bench.order('big', { bytes: 24_000_000 }, { limits }))
    await bench.gateway.result(order.id)
    orders.push(order)
  }
  const [first, , last] = await Promise.all(orders.map((order) => bench.gateway.result(order.id)))
  const [oldest, , newest] = orders
  const dropped = await bench.gateway.recover(oldest as (typeof orders)[number])
  expect(dropped.head.result).toEqual({ ...first?.head, withheld: 'dropped' })
  expect(dropped.raw).toHaveLength(0)
  const kept = await bench.gateway.recover(newest as (typeof orders)[number])
  expect(kept.head.result).toEqual(last?.head)
  expect(kept.raw).toHaveLength(last?.raw.length ?? 0)
})

test('a gateway that does not read holds up no other', async () => {
  const upstream = await startUpstream({ era: 'legacy' })
  const bench = await Bench.start({ url: upstream.url })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  const deaf = await bench.worker.gateway()
  deaf.pause()
  for (let i = 0; i < 5; i++) deaf.submit(bench.order('big', { bytes: 900_000 }))
  await upstream.received('tools/call', 5)
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
})

test('a worker that was stopped waits for nobody any more', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
  const worker = await new WorkerUnderTest().start()
  const gateway = await worker.gateway()
  const during = timers()
  await worker.worker.stop()
  await gateway.closed()
  await worker.stop()
  // Those of tests before this one may have ended meanwhile too.
  expect(timers()).toBeLessThan(during)
})
