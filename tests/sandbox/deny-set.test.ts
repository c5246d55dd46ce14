/** A sandbox that runs while a connection is added: its launcher confirms that it is denied there before it is enabled. */
import { bubblewrap } from '@sallyport/launcher'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { connectUpstream, publishTools } from '../harness/setup-connection.ts'
import { type CountedUpstream, startCountedUpstream } from '../system/counted-upstream.ts'
import { eventually } from '../system/eventually.ts'
import { run, SandboxWorld } from './sandbox-world.ts'

let world: SandboxWorld
let other: CountedUpstream

await sandboxSuite(bubblewrap(), () => {
  beforeAll(async () => {
    ;[world, other] = await Promise.all([SandboxWorld.start(), startCountedUpstream()])
  })
  afterAll(async () => {
    await world?.end()
    await other?.close()
  })

  test('what is enabled while a guest runs is denied in it first, and the guest goes on', async () => {
    const { api } = world.sallyport
    const stop = new AbortController()
    const request = await world.request(bubblewrap(), ['sleep', '1000'])
    const ran = run({ ...request, stop: stop.signal })
    const running = await eventually(
      async () => (await api('session.list')).items[0],
      (session) => session?.state === 'open',
      20_000,
    )
    const id = running?.id ?? expect.fail()
    const denial = async () => (await api('session.show', { id })).denySet
    const before = await denial()
    expect(before).toMatchObject({ confirmed: before?.revision, directAccess: 'denied' })
    const spec = { name: 'other', url: other.url, read: ['look'] }
    await connectUpstream(world.sallyport, spec)
    await publishTools(world.sallyport, spec)
    const after = await denial()
    expect(after?.revision).toBeGreaterThan(before?.revision ?? 0)
    expect(after).toMatchObject({ confirmed: after?.revision, directAccess: 'denied' })
    const { entries } = await api('session.denySet', { id })
    const place = { host: '127.0.0.1', port: Number(new URL(other.url).port) }
    expect(entries).toContainEqual(place)
    expect((await api('session.show', { id })).state).toBe('open')
    stop.abort()
    expect((await ran).end).toMatchObject({ reason: 'launcher_stopped' })
  })
})
