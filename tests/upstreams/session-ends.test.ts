/**
 * Sessions that the whole Sallyport opened at legacy servers are ended where they were opened and with what they were
 * opened with, whatever becomes of the connection; a server that hangs over it changes nothing that was told.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { eventually } from '../system/eventually.ts'
import { RawGuest } from '../system/raw-guest.ts'
import { startUpstream, type Upstream, type UpstreamOptions } from './scripted-upstream.ts'

let sallyport: Sallyport
const upstreams = new Map<string, Upstream>()
beforeAll(async () => {
  sallyport = await startSallyport()
})
afterAll(async () => {
  await sallyport?.remove()
  for (const upstream of upstreams.values()) await upstream.close()
})

const tokenOf = (name: string) => `token-of-${name}-0123456789`
const pathOf = (name: string) => `/mcp/${name}?team=${name}`

/** Its server, and the session of a guest that has called it once. */
async function connect(
  name: string,
  era: UpstreamOptions['era'] = 'legacy',
): Promise<{ readonly upstream: Upstream; readonly guest: RawGuest }> {
  const upstream = await startUpstream({ era, path: pathOf(name), bearer: tokenOf(name) })
  upstreams.set(name, upstream)
  const spec = { name, url: upstream.url, token: tokenOf(name), profile: name }
  const session: OpenSession = await connectAndGrant(sallyport, { ...spec, read: ['counter_read'] })
  const endpoint = `${session.endpoint}/${name}`
  const guest = new RawGuest({ endpoint, token: session.token, era: 'legacy' })
  expect(await guest.call('counter_read')).toMatchObject({ isError: false })
  return { upstream, guest }
}

/** Every session that was opened is ended once, as it was opened. */
function expectEnded(name: string, upstream: Upstream): void {
  const idOf = ({ headers }: Upstream['requests'][number]) => headers['mcp-session-id']
  const ended = upstream.requests.filter(({ verb }) => verb === 'DELETE')
  const opened = new Set(upstream.requests.filter(({ verb }) => verb === 'POST').map(idOf))
  opened.delete(undefined)
  expect(new Set(ended.map(idOf))).toEqual(opened)
  expect(ended).toHaveLength(opened.size)
  for (const { url, headers, text } of ended) {
    expect(url).toBe(pathOf(name))
    expect(headers).toMatchObject({
      authorization: `Bearer ${tokenOf(name)}`,
      'mcp-protocol-version': '2025-11-25',
    })
    expect(text).toBe('')
  }
}

const ends: Record<string, (name: string) => Promise<unknown>> = {
  disabled: (name) => sallyport.api('connection.disable', { name }),
  removed: (name) => sallyport.api('connection.remove', { name }),
  edited: (name) =>
    sallyport.api(
      'connection.edit',
      { name },
      {
        url: `${new URL('/elsewhere', upstreams.get(name)?.url)}`,
        secret: { token: 'another-token-0123456789', headers: [] },
        allowPlaintext: true,
      },
    ),
}

test.each(Object.entries(ends))('of a connection that is %s', async (name, end) => {
  const { upstream } = await connect(name)
  await end(name)
  await eventually(
    () => upstream.requests,
    () => upstream.deletes >= upstream.count('initialize'),
    10_000,
  )
  expectEnded(name, upstream)
})

test('a call that is under way when its connection is disabled succeeds, whoever hangs behind it', async () => {
  const { upstream, guest } = await connect('hanging')
  upstream.misbehave({ kind: 'hang' }, { method: 'DELETE' })
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call', times: 1 })
  const calls = upstream.count('tools/call')
  const call = guest.call('counter_read')
  await upstream.received('tools/call', calls + 1)
  const deletes = upstream.deletes
  expect(await sallyport.api('connection.disable', { name: 'hanging' })).toMatchObject({
    state: 'disabled',
  })
  expect(upstream.deletes).toBe(deletes)
  const [held] = (await sallyport.api('execution.list', { limit: 1 })).items
  upstream.answerHeld()
  expect(await call).toMatchObject({ isError: false, text: String(upstream.state.counter) })
  await upstream.received('DELETE', deletes + 1)
  const row = await sallyport.api('execution.show', { id: held?.id as string })
  expect(row).toMatchObject({ state: 'succeeded' })
})

test('of everything, when it is stopped: a server that hangs is not waited for long, a modern one hears nothing', async () => {
  const legacy = await connect('legacy')
  const deaf = await connect('deaf')
  const modern = await connect('modern', 'modern')
  deaf.upstream.misbehave({ kind: 'hang' }, { method: 'DELETE' })
  const before = performance.now()
  expect(await sallyport.stop()).toBe(0)
  expect(performance.now() - before).toBeLessThan(15_000)
  await deaf.upstream.received('DELETE')
  expectEnded('legacy', legacy.upstream)
  expect(modern.upstream.deletes).toBe(0)
  expect(modern.upstream.requests.filter(({ verb }) => verb !== 'POST')).toEqual([])
})
