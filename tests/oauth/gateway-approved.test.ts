/** A credential that is revoked after a person approved a write and before it was sent: nothing leaves, on either database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenSession } from '../harness/setup-connection.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { eventually } from '../system/eventually.ts'
import { rowsOf } from '../system/journal.ts'
import { GatewayWorld } from './gateway-world.ts'

const args = '{"by":1}'

describe.each(['sqlite', 'postgres'] as const)('%s', (engine) => {
  let postgres: RunningPostgres | undefined
  let world: GatewayWorld

  beforeAll(async () => {
    postgres = engine === 'postgres' ? await startPostgres() : undefined
    const flags = postgres ? { args: ['--database', postgres.url] } : {}
    world = await GatewayWorld.start({ tells: 'id_token' }, flags)
  }, 120_000)
  afterAll(async () => {
    await world?.stop()
    await postgres?.stop()
  })

  /** A write whose caller left before a person approved it: it is sent when somebody asks for the same again. */
  async function approved(session: OpenSession, name: string): Promise<void> {
    const left = new AbortController()
    const asked = world.call(name, session, 'counter_add', args, left.signal).catch(() => 'left')
    const { items } = await eventually(
      () => world.api('approval.list', { state: 'pending' }),
      (answer) => answer.items.length === 1,
      15_000,
    )
    left.abort()
    expect(await asked).toBe('left')
    await world.api('approval.approve', { id: items[0]?.id ?? '' }, {})
    const rows = await rowsOf(world.sallyport, session.id)
    expect(rows.map(({ state }) => state)).toEqual(['approved'])
  }

  test('nothing stands between an approved write and the server', { timeout: 90_000 }, async () => {
    const session = await world.open('kept', { asks: true })
    const sent = world.mcp.callsWith.length
    await approved(session, 'kept')
    expect(world.mcp.callsWith).toHaveLength(sent)
    expect((await world.call('kept', session, 'counter_add', args)).isError).toBe(false)
    expect(world.mcp.callsWith).toHaveLength(sent + 1)
  })

  test.each([
    ['disconnected', (name: string) => world.api('connection.disconnect', { name })],
    ['disabled', (name: string) => world.api('connection.disable', { name })],
  ])(
    'but a connection that was %s meanwhile: not a byte',
    { timeout: 90_000 },
    async (how, end) => {
      const session = await world.open(how, { asks: true })
      await approved(session, how)
      await end(how)
      const seen = world.mcp.requests.length
      const answer = await world.call(how, session, 'counter_add', args)
      expect(answer.failure?.code).toBe(
        how === 'disconnected' ? 'credential_unusable' : 'connection_disabled',
      )
      expect(world.mcp.requests).toHaveLength(seen)
      const rows = await rowsOf(world.sallyport, session.id)
      expect(rows.map(({ state }) => state)).toEqual(['refused'])
    },
  )
})
