import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import type { WebhookIntent } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { WebhookReceiver } from '../../../../tests/upstreams/webhook-receiver.ts'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { sendWebhook } from './send-webhook.ts'
import { webhookHeaders } from './sign-webhook.ts'

test('the signature is the one that receivers compute', () => {
  // The example that the libraries of Standard Webhooks are tested with.
  const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
  const body = '{"test": 2432232314}'
  const headers = webhookHeaders(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    1_614_265_330,
    Buffer.from(body),
    key,
  )
  expect(headers.slice(-2)).toEqual([
    'webhook-signature',
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  ])
  const content = `msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.${body}`
  expect(headers.at(-1)).toBe(`v1,${createHmac('sha256', key).update(content).digest('base64')}`)
})

test.each([
  ['a receiver that says nothing', false, { verdict: 'uncertain', code: 'upstream_timeout' }],
  ['one that began to answer', true, { verdict: 'result', status: 200 }],
])('%s is waited for ten seconds', async (_what, begins, told) => {
  const receiver = await WebhookReceiver.start({ secret: '' })
  const arrived = new Promise<void>((resolve) => {
    receiver.answer = (response) => {
      if (begins) response.writeHead(200).write('x')
      resolve()
    }
  })
  const clock = new SteppedClock()
  let read = 0
  const dialer = {
    connect: async () => {
      const socket = connect(receiver.port, '127.0.0.1')
      socket.on('data', () => read++)
      return socket
    },
  }
  const outcome = sendWebhook({
    intent: { eventId: 'dlv_1' } as WebhookIntent,
    webhook: {
      scheme: 'http',
      host: '127.0.0.1',
      port: receiver.port,
      path: '/',
      key: Buffer.alloc(24),
    },
    body: Buffer.from('{}'),
    dialer,
    clock,
    pass: () => undefined,
  })
  let isOver = false
  void outcome.then(() => {
    isOver = true
  })
  await arrived
  if (begins) await expect.poll(() => read).toBeGreaterThan(0)
  clock.step(9_999)
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  clock.step(1)
  expect((await outcome).head).toMatchObject({ ...told, tookMs: 10_000 })
  await receiver.close()
})

test('what may not pass any more is not sent', async () => {
  const receiver = await WebhookReceiver.start({ secret: '' })
  const outcome = await sendWebhook({
    intent: { eventId: 'dlv_1' } as WebhookIntent,
    webhook: {
      scheme: 'http',
      host: '127.0.0.1',
      port: receiver.port,
      path: '/',
      key: Buffer.alloc(24),
    },
    body: Buffer.from('{}'),
    dialer: { connect: async () => connect(receiver.port, '127.0.0.1') },
    clock: new SteppedClock(),
    pass: () => 'expired',
  })
  expect(outcome.head).toEqual({ verdict: 'not_sent', code: 'expired' })
  expect(receiver.received).toEqual([])
  await receiver.close()
})
