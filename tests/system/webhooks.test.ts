/** Another system is told when somebody has something to decide: through the whole program, signed, without arguments. */
import { randomBytes } from 'node:crypto'
import { idSource } from '@sallyport/protocol'
import { newWebhookSecret, sealWebhook } from '@sallyport/protocol/node'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { WebhookReceiver } from '../upstreams/webhook-receiver.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { eventually } from './eventually.ts'
import { RawGuest } from './raw-guest.ts'

const secret = newWebhookSecret()
const ids = idSource(Date.now, (size) => randomBytes(size))

let sallyport: Sallyport
let upstream: CountedUpstream
let receiver: WebhookReceiver
let session: OpenSession

beforeAll(async () => {
  upstream = await startCountedUpstream()
  receiver = await WebhookReceiver.start({ secret })
  sallyport = await startSallyport()
  session = await connectAndGrant(sallyport, {
    name: 'notes',
    url: upstream.url,
    profile: 'asking',
    read: ['look'],
    write: ['store'],
  })
  const { kid, jwk } = await sallyport.api('vault.show')
  const id = ids('webhook')
  const { seal, clear } = sealWebhook({
    url: receiver.url,
    secret,
    webhookId: id,
    version: 1,
    scope: 'org',
    key: { kid, jwk },
    localAllowed: true,
  })
  await sallyport.api('webhook.create', {}, { id, name: 'chat', seal, clear })
})
afterAll(async () => {
  await sallyport?.remove()
  await receiver?.close()
  await upstream?.close()
})
beforeEach(() => {
  receiver.received.length = 0
  receiver.answer = (response) => response.writeHead(204).end()
})

const ask = (id: string) =>
  new RawGuest({
    endpoint: `${sallyport.guestUrl}/mcp/notes`,
    token: session.token,
    era: 'legacy',
  }).call('store', `{"id":"${id}"}`)

const told = (type: string, count = 1) =>
  eventually(
    () => receiver.received.filter(({ body }) => JSON.parse(body).type === type),
    ({ length }) => length >= count,
    15_000,
  )

const pending = async (): Promise<string> => {
  const { items } = await eventually(
    () => sallyport.api('approval.list', { state: 'pending' }),
    ({ items: waiting }) => waiting.length > 0,
  )
  return items[0]?.id ?? ''
}

test('an approval that is asked for and given is told twice, signed, and says nothing of the arguments', async () => {
  const answer = ask('told-not')
  const id = await pending()
  const [asked] = await told('approval.requested')
  expect(asked?.problem).toBeUndefined()
  const { data } = JSON.parse(asked?.body ?? '')
  expect(data).toMatchObject({
    approvalId: id,
    sessionId: session.id,
    requester: 'admin',
    connection: 'notes',
    tool: 'store',
  })
  await sallyport.api('approval.approve', { id }, { note: 'a private word' })
  await answer
  const [given] = await told('approval.approved')
  expect(given?.problem).toBeUndefined()
  const all = receiver.received.map(({ body }) => body).join()
  expect(all).not.toMatch(/told-not|private word/)
})

test('what the receiver did not take is tried again under the same id, also after a crash of the gateway', async () => {
  receiver.answer = (response) => response.writeHead(503).end()
  const answer = ask('again').catch(() => 'cut off')
  const id = await pending()
  const [first] = await told('approval.requested')
  await sallyport.kill()
  expect(await answer).toBe('cut off')
  receiver.answer = (response) => response.writeHead(204).end()
  await sallyport.restart()
  // What was on its way at the crash is let go of after a minute; what was reported, after five seconds.
  const tries = await eventually(
    () => receiver.received.filter(({ body }) => body === first?.body),
    ({ length }) => length >= 2,
    75_000,
  )
  expect(new Set(tries.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(tries.every(({ problem }) => problem === undefined)).toBe(true)
  await sallyport.api('approval.deny', { id }, {})
  await told('approval.denied')
  const [hook] = (await sallyport.api('webhook.list')).items
  expect(hook).toMatchObject({ name: 'chat', state: 'active' })
}, 120_000)

test('a receiver that is gone is told nothing more, also after a restart, until it is switched on', async () => {
  receiver.answer = (response) => response.writeHead(410).end()
  const hook = async () => (await sallyport.api('webhook.list')).items[0]
  const decided = async (name: string) => {
    const answer = ask(name)
    await sallyport.api('approval.deny', { id: await pending() }, {})
    await answer
  }
  await decided('lost')
  const off = await eventually(hook, (found) => found?.state === 'off', 15_000)
  expect(off).toMatchObject({ lastFailure: { code: 'webhook_refused' }, waiting: 0 })
  expect(off?.goneAt).not.toBeNull()
  await sallyport.restart()
  receiver.received.length = 0
  receiver.answer = (response) => response.writeHead(204).end()
  await decided('silent')
  await sallyport.api('webhook.enable', { id: off?.id ?? '' })
  await decided('back')
  await told('approval.denied')
  // Of what was decided while it was off there is no word.
  const types = receiver.received.map(({ body }) => JSON.parse(body).type)
  expect(types).toEqual(['approval.requested', 'approval.denied'])
  // What the receiver has is noted a moment later.
  const on = await eventually(hook, (found) => found?.state === 'active' && found.waiting === 0)
  expect(on).toMatchObject({ goneAt: null, state: 'active', waiting: 0 })
}, 60_000)
