/** Guests learn that their tools changed, and only then. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, grantTools, publishTools } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type ScriptedTool, startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { eventually } from './eventually.ts'
import { type GuestStream, openStream } from './guest-stream.ts'
import { RawGuest } from './raw-guest.ts'

let sallyport: Sallyport
const ends: (() => unknown)[] = []
beforeAll(async () => {
  sallyport = await startSallyport()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
afterAll(() => sallyport?.remove())

const eras = ['legacy', 'modern'] as const
const tool = (name: string): ScriptedTool => ({ name, description: `Does ${name}.` })
const published = ['kept', 'moving', 'hidden'].map(tool)

interface Scene {
  /** Of connection and profile. */
  readonly name: string
  readonly upstream: Upstream
  readonly session: { readonly id: string; readonly token: string; readonly endpoint: string }
  readonly guest: RawGuest
  /** One of each era, over every connection of the session and over this one. */
  readonly streams: readonly GuestStream[]
  listed(): Promise<string[]>
}

let scenes = 0

/** A connection of three tools, of which two are granted, with a session that listens. */
async function setScene(): Promise<Scene> {
  const name = `scene-${++scenes}`
  const upstream = await startUpstream({ tools: published })
  ends.push(() => upstream.close())
  const spec = { name, url: upstream.url, profile: name, read: ['kept', 'moving', 'hidden'] }
  await connectAndGrant(sallyport, spec)
  await sallyport.api('profile.revoke', { name }, { connection: name, tools: 'hidden' })
  const session = await sallyport.api('session.create', {}, { profile: name })
  const { token } = session
  const streams = []
  for (const era of eras)
    for (const endpoint of [`${sallyport.guestUrl}/mcp`, `${sallyport.guestUrl}/mcp/${name}`]) {
      const stream = await openStream({ endpoint, token, era })
      ends.push(() => stream.close())
      streams.push(stream)
    }
  const guest = new RawGuest({
    endpoint: `${sallyport.guestUrl}/mcp/${name}`,
    token,
    era: 'modern',
  })
  const listed = async () => {
    const { result = {} } = await guest.ask('tools/list')
    return (result['tools'] as { name: string }[]).map((one) => one.name).sort()
  }
  return { name, upstream, session, guest, streams, listed }
}

/** Does something and expects that every stream is told once, and the list is then that. */
async function expectTold(
  { streams, listed }: Scene,
  act: () => Promise<unknown>,
  names: string[],
) {
  const before = streams.map(({ changes }) => changes)
  await act()
  await Promise.all(streams.map((stream, at) => stream.told((before[at] ?? 0) + 1)))
  expect(await listed()).toEqual(names)
  expect(streams.map(({ changes }) => changes)).toEqual(before.map((changes) => changes + 1))
}

const all = ['kept', 'moving']

test('a revoked grant is told at once on every stream of the session', async () => {
  const scene = await setScene()
  const { name } = scene
  expect(await scene.listed()).toEqual(all)
  const revoke = () =>
    sallyport.api('profile.revoke', { name }, { connection: name, tools: 'moving' })
  await expectTold(scene, revoke, ['kept'])
})

test('a connection that is disabled is told, and told again when it is enabled', async () => {
  const scene = await setScene()
  const { name, guest } = scene
  await expectTold(scene, () => sallyport.api('connection.disable', { name }), [])
  await expectTold(scene, () => sallyport.api('connection.enable', { name }), all)
  expect(await guest.call('kept')).toMatchObject({ isError: false })
  await expectTold(scene, () => sallyport.api('connection.remove', { name }), [])
})

test('a withdrawn catalog is told', async () => {
  const scene = await setScene()
  const { name } = scene
  await expectTold(scene, () => sallyport.api('catalog.withdraw', { name }, { revision: 1 }), [])
})

test('drift is told when it is observed, by a call or by the upstream itself, and its end too', async () => {
  const scene = await setScene()
  const { name, upstream, guest } = scene
  await upstream.until(() => upstream.streams > 0)
  const change = (tools: readonly ScriptedTool[]) => async () => {
    upstream.setTools(tools)
    upstream.announceToolsChanged()
  }
  const drifted = published.map((one) => (one.name === 'moving' ? { ...one, title: 'New' } : one))
  await expectTold(scene, change(drifted), ['kept'])
  expect(await guest.call('moving')).toMatchObject({ failure: { code: 'tool_changed' } })
  await expectTold(scene, change(published), all)
  expect(await guest.call('moving')).toMatchObject({ isError: false })
  upstream.setTools(published.filter((one) => one.name !== 'kept'))
  await expectTold(scene, () => sallyport.api('connection.refresh', { name }), ['moving'])
})

test('what changes nothing for a session is not told to it', async () => {
  const scene = await setScene()
  const other = await setScene()
  const { name, upstream, streams } = scene
  await upstream.until(() => upstream.streams > 0)
  await grantTools(sallyport, { name, url: '', profile: name, read: ['hidden'] })
  await publishTools(sallyport, { name, read: ['kept', 'moving', 'hidden'] })
  await sallyport.api('catalog.withdraw', { name }, { revision: 2 })
  await sallyport.api('pause.set', {}, { note: 'a pause', writes: false })
  await sallyport.api('pause.clear')
  const observed = async () => (await sallyport.api('connection.show', { name })).observed?.digest
  const before = await observed()
  upstream.setTools(published.map((one) => (one.name === 'hidden' ? tool('gone') : one)))
  upstream.announceToolsChanged()
  await eventually(observed, (digest) => digest !== before)
  await expectTold(other, () => sallyport.api('connection.disable', { name: other.name }), [])
  await sallyport.api('session.end', { id: other.session.id })
  for (const stream of other.streams) await stream.ended()
  expect(streams.map(({ changes }) => changes)).toEqual([0, 0, 0, 0])
  expect(streams.map(({ isEnded }) => isEnded)).toEqual([false, false, false, false])
  // The control: the same streams are told when there is something to tell.
  const revoke = () =>
    sallyport.api('profile.revoke', { name }, { connection: name, tools: 'kept' })
  await expectTold(scene, revoke, ['moving'])
})

test('streams end with their session, a subscription with its result', async () => {
  const { session, streams } = await setScene()
  await sallyport.api('session.end', { id: session.id })
  for (const stream of streams) await stream.ended()
  expect(streams.map(({ messages }) => messages.at(-1)?.result !== undefined)).toEqual([
    false,
    false,
    true,
    true,
  ])
  expect(streams.map(({ changes }) => changes)).toEqual([0, 0, 0, 0])
  await expect(
    openStream({ endpoint: session.endpoint, token: session.token, era: 'legacy' }),
  ).rejects.toThrow(/401/)
})

test.each(eras)('%s: a change right after a stream was opened is told', async (era) => {
  const { name, session } = await setScene()
  const { token } = await sallyport.api('session.create', {}, { profile: name })
  expect(session.token).not.toBe(token)
  const stream = await openStream({ endpoint: `${sallyport.guestUrl}/mcp`, token, era })
  ends.push(() => stream.close())
  await sallyport.api('connection.disable', { name })
  await stream.told(1)
})

test.each([
  ['legacy', { mode: 'legacy' }],
  ['modern', { mode: { pin: '2026-07-28' } }],
] as const)(
  'the official client lists again when it is told, in %s mode',
  async (_mode, versionNegotiation) => {
    const { name, session } = await setScene()
    const lists: string[][] = []
    const onChanged = (_error: Error | null, tools: readonly { name: string }[] | null) => {
      lists.push((tools ?? []).map((one) => one.name).sort())
    }
    const listChanged = { tools: { autoRefresh: true, debounceMs: 0, onChanged } }
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation, listChanged })
    ends.push(() => client.close())
    const requestInit = { headers: { authorization: `Bearer ${session.token}` } }
    const url = new URL(`${sallyport.guestUrl}/mcp/${name}`)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
    expect((await client.listTools()).tools).toHaveLength(2)
    await sallyport.api('profile.revoke', { name }, { connection: name, tools: 'moving' })
    await eventually(
      () => lists,
      ([first]) => first !== undefined,
    )
    await sallyport.api('connection.disable', { name })
    await eventually(
      () => lists,
      (seen) => seen.length === 2,
    )
    await sallyport.api('connection.enable', { name })
    await eventually(
      () => lists,
      (seen) => seen.length === 3,
    )
    expect(lists).toEqual([['kept'], [], ['kept']])
  },
)
