/** Domain rule 8: what is kept of arguments and results, for how long, and what stays when that is over. */
import { bodyKinds, type Execution, resolveExecution, sweepBodies } from '@sallyport/core'
import type { ProfileSettings } from '@sallyport/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bodies, openWorld, readTool, type World } from './call-world.ts'
import { approveSent, askHeld, askSent, decide, pending, renew, rowOf, take } from './held-calls.ts'
import { type PostgresWorlds, startPostgresWorlds } from './postgres-worlds.ts'

const day = 86_400_000
const quarterOfAnHour = 15 * 60_000
const raw = '{"content":[],"n":1}'
const both = { arguments: '{"by":1}', result: raw }
const neither = { arguments: undefined, result: undefined }

describe.each(['memory', 'sqlite', 'postgres'] as const)('what is kept on %s', (engine) => {
  let postgres: PostgresWorlds | undefined
  let world: World
  beforeAll(async () => {
    if (engine === 'postgres') postgres = await startPostgresWorlds()
  })
  afterAll(() => postgres?.stop())
  afterEach(() => world.close())

  const open = async (settings: Partial<ProfileSettings> = {}): Promise<void> => {
    if (postgres) world = (await postgres.open({ settings })).world
    else if (engine !== 'postgres') world = await openWorld(engine, { settings })
    // Without a lease the other gateway of the database takes its callers for gone.
    await renew(world)
  }

  /** As whoever has the data key reads them. */
  const kept = async ({ id }: Execution) => {
    const texts = bodyKinds.map(async (kind) => {
      const body = await world.store.bodies.get(id, kind)
      return [kind, body && bodies.open(id, kind, body.sealed).toString()] as const
    })
    return Object.fromEntries(await Promise.all(texts))
  }

  /** A write, or what is asked for instead of one, that was answered. */
  const ended = async (change: Parameters<typeof askSent>[1] = {}): Promise<Execution> => {
    const call = await askSent(world, change)
    world.answer(call.intent, {}, raw)
    const outcome = await call.outcome
    if (change.tool?.binding.access !== 'read') await take(world, outcome)
    return rowOf(world, call.id)
  }

  test('of a write both, for as long as its profile says; then the digests stay', async () => {
    await open({ retainDays: 2 })
    const before = await ended()
    expect(before.argumentsDigest).toMatch(/^sha256:/)
    expect(before.resultDigest).toMatch(/^sha256:/)
    expect(await kept(before)).toEqual(both)
    world.step(2 * day - 1)
    expect(await sweepBodies(world.store)).toBe(0)
    expect(await kept(before)).toEqual(both)
    world.step(1)
    expect(await sweepBodies(world.store)).toBe(2)
    expect(await kept(before)).toEqual(neither)
    expect(await rowOf(world, before.id)).toEqual(before)
  })

  test('of a read only the digests, unless its profile asks for more', async () => {
    await open()
    const read = await ended({ tool: readTool })
    expect(read.argumentsDigest).toMatch(/^sha256:/)
    expect(read.resultDigest).toMatch(/^sha256:/)
    expect(await kept(read)).toEqual(neither)
    await world.close()
    await open({ keepReads: true })
    expect(await kept(await ended({ tool: readTool }))).toEqual(both)
  })

  test('where nothing is to be kept, what may still be collected is, for as long as it may', async () => {
    await open({ retainDays: 0 })
    const row = await ended()
    world.step(quarterOfAnHour - 1)
    expect(await sweepBodies(world.store)).toBe(0)
    expect(await kept(row)).toEqual(both)
    world.step(1)
    expect(await sweepBodies(world.store)).toBe(2)
    expect(await kept(row)).toEqual(neither)
  })

  test('of a write that a person decides about, the arguments from when it is asked for', async () => {
    await open({ retainDays: 1 })
    const first = await askHeld(world)
    const { executionId } = await pending(world)
    const asked = await rowOf(world, executionId)
    expect(await kept(asked)).toEqual({ ...neither, arguments: '{"by":1}' })
    world.answer(await approveSent(world), {}, raw)
    await take(world, await first.outcome)
    expect(await kept(asked)).toEqual(both)
    const second = await askHeld(world, { argumentsText: '{"by":2}' })
    const other = await pending(world)
    await decide(world, 'deny')
    await take(world, await second.outcome)
    const denied = await rowOf(world, other.executionId)
    expect(await kept(denied)).toEqual({ ...neither, arguments: '{"by":2}' })
    world.step(day)
    expect(await sweepBodies(world.store)).toBe(3)
    expect(await rowOf(world, denied.id)).toEqual(denied)
  })

  test('of an unknown outcome, past its time, until a person has said what became of it', async () => {
    await open({ retainDays: 1 })
    const call = await askSent(world)
    world.answer(call.intent, { verdict: 'uncertain', code: 'upstream_timeout' })
    await call.outcome
    const row = await rowOf(world, call.id)
    expect(row.state).toBe('unknown')
    world.step(30 * day)
    expect(await sweepBodies(world.store)).toBe(0)
    expect(await kept(row)).toEqual({ ...neither, arguments: '{"by":1}' })
    const said = { outcome: 'not_applied', note: 'looked', allowRetry: false } as const
    await resolveExecution(world, world.owner, row.id, said)
    world.step(2 * day)
    expect(await sweepBodies(world.store)).toBe(1)
    expect(await kept(row)).toEqual(neither)
    expect(await rowOf(world, row.id)).toMatchObject({
      state: 'resolved',
      argumentsDigest: row.argumentsDigest,
    })
  })
})
