/** Services and the health of connections as a person sees them, through the command line and a webhook. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { idSource } from '@sallyport/protocol'
import { newWebhookSecret, sealWebhook } from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { WebhookReceiver } from '../upstreams/webhook-receiver.ts'
import { runCommand } from './commands.ts'
import { eventually } from './eventually.ts'

const secret = newWebhookSecret()
const home = mkdtempSync(join(tmpdir(), 'sallyport-services-'))
let sallyport: Sallyport
let upstream: Upstream
let resource: string
let receiver: WebhookReceiver
beforeAll(async () => {
  ;[sallyport, upstream, receiver] = await Promise.all([
    startSallyport(),
    startUpstream(),
    WebhookReceiver.start({ secret }),
  ])
  resource = upstream.url
  writeFileSync(join(home, 'token'), 't0ken\n')
})
afterAll(async () => {
  await sallyport?.remove()
  await receiver?.close()
  rmSync(home, { recursive: true })
})

async function told(...words: string[]) {
  const { code, stdout, stderr } = await runCommand(words, { dataDir: sallyport.dataDir, home })
  return { code, said: stdout + stderr }
}

async function tellUs(): Promise<void> {
  const id = idSource(Date.now, (size) => randomBytes(size))('webhook')
  const { kid, jwk } = await sallyport.api('vault.show')
  const place = { webhookId: id, version: 1, scope: 'org', key: { kid, jwk }, localAllowed: true }
  const { seal, clear } = sealWebhook({ url: receiver.url, secret, ...place })
  const events = ['connection.health'] as const
  await sallyport.api('webhook.create', {}, { id, name: 'pager', seal, clear, events: [...events] })
}

test('a service is offered, added by its name, reviewed and enabled without anybody typing its URL', async () => {
  expect(await told('service', 'add', 'lab', '--resource', resource, '--method', 'none')).toEqual({
    code: 0,
    said: expect.stringContaining('sallyport connection add NAME --service lab'),
  })
  const list = await told('service', 'list')
  expect(list).toEqual({ code: 0, said: expect.stringContaining(resource) })
  const bearer = ['--bearer-file', join(home, 'token')]
  const added = await told('connection', 'add', 'mine', '--service', 'lab', ...bearer)
  expect(added).toEqual({ code: 0, said: expect.stringContaining('catalog discover mine') })
  expect((await told('catalog', 'discover', 'mine')).code).toBe(0)
  expect((await told('catalog', 'review', 'mine', '--include', '*')).code).toBe(0)
  expect((await told('catalog', 'publish', 'mine')).code).toBe(0)
  expect((await told('connection', 'enable', 'mine')).code).toBe(0)
  expect((await told('connection', 'add', 'other', '--service', 'nobody')).said).toMatch(
    /^not_found:/,
  )
  expect((await told('connection', 'add', 'x', resource, '--service', 'lab')).code).toBe(2)
}, 90_000)

test('how it is, is told where it is asked for, and to a webhook once when it changes', async () => {
  await tellUs()
  expect((await told('connection', 'status', 'mine')).said).toMatch(/health +ok\n/)
  const metrics = async () => (await fetch(`${sallyport.url}/metrics`)).text()
  await eventually(
    metrics,
    (text) => text.includes('sallyport_connections{condition="ok"} 1'),
    15_000,
  )
  await upstream.close()
  expect((await told('connection', 'test', 'mine')).code).toBe(1)
  const status = await told('connection', 'status', 'mine')
  expect(status.said).toMatch(/health +unreachable\n/)
  expect(status.said).toMatch(/next +sallyport connection test mine\n/)
  expect((await told('connection', 'list')).said).toMatch(/mine .*unreachable/)
  expect((await told('connection', 'status')).said).toContain('1 connection; 1 needs somebody')
  const [event] = await eventually(
    () => receiver.received,
    ({ length }) => length > 0,
    15_000,
  )
  expect(event?.problem).toBeUndefined()
  const { type, data } = JSON.parse(event?.body ?? '')
  expect({ type, data }).toMatchObject({
    type: 'connection.health',
    data: { connection: 'mine', condition: 'unreachable', before: 'ok' },
  })
  expect(event?.body).not.toContain(new URL(resource).host)
  await eventually(metrics, (text) =>
    text.includes('sallyport_connections{condition="unreachable"} 1'),
  )
  await told('connection', 'test', 'mine')
  expect(receiver.received).toHaveLength(1)
}, 90_000)

test('what is denied is shown, added and taken back', async () => {
  const added = await told('denied', 'add', '*.Corp.example', '10.0.0.0/8')
  expect(added).toEqual({
    code: 0,
    said: expect.stringMatching(/\*\.corp\.example +(?:in force|pending) +added/),
  })
  expect((await told('denied', 'list')).said).toContain(new URL(resource).host)
  expect((await told('denied', 'remove', '10.0.0.0/8')).said).not.toContain('10.0.0.0/8')
  expect((await told('denied', 'add', 'no host')).said).toMatch(/^bad_request: /)
})
