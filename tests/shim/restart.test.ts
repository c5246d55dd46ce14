/** A gateway that goes away and comes back, with shims that stay. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../system/eventually.ts'
import { defaultTools, text } from '../upstreams/scripted-tools.ts'
import type { ScriptedTool } from '../upstreams/scripted-upstream.ts'
import type { Message, Shim } from './start-shim.ts'
import { makePlace, type Place, type ShimWay } from './ways.ts'

let place: Place
const gate = new Map<number, () => void>()
const gated: ScriptedTool = {
  name: 'gated_add',
  inputSchema: { type: 'object', properties: { by: { type: 'integer' } }, required: ['by'] },
  run: async ({ arguments: { by } }) => {
    await new Promise<void>((resolve) => gate.set(Number(by), resolve))
    return text(`added ${by}`)
  },
}
beforeAll(async () => {
  place = await makePlace({
    tools: [...defaultTools, gated],
    read: ['counter_read'],
    write: ['gated_add'],
  })
})
afterAll(() => place?.remove())

const read = { name: 'lab__counter_read', arguments: {} }
const textOf = ({ result }: Message): string => result.content[0].text
/** A descriptor is inherited once, and its other end went with the gateway. */
const ways: readonly ShimWay[] = ['url', 'socket', 'device', 'relay']

/** Asks until it is answered by the gateway. */
async function whenBack(shim: Shim): Promise<string> {
  let last: Message
  await eventually(
    async () => {
      last = await shim.ask('tools/call', read, `again ${Date.now()}`)
      return last.result.isError !== true
    },
    Boolean,
    30_000,
  )
  return textOf(last)
}

describe('while the gateway is away', () => {
  const shims = new Map<ShimWay, Shim>()
  const lists = new Map<ShimWay, Message>()
  beforeAll(async () => {
    for (const way of [...ways, 'fd' as const]) {
      const shim = await place.session.shim(way)
      await shim.initialize()
      lists.set(way, (await shim.ask('tools/list')).result)
      shims.set(way, shim)
    }
    await place.sallyport.kill()
    // All at once: some ways need a while to be sure.
    for (const shim of shims.values())
      shim.write(`${call(50)}\n{"jsonrpc":"2.0","id":51,"method":"tools/list"}\n`)
  })

  test.each([...ways, 'fd' as const])(
    'by %s a call is answered as one that was not sent, and the last list stays',
    async (way) => {
      const shim = shims.get(way) as Shim
      const answer = await shim.answer(50, 25_000)
      expect(answer.result.isError).toBe(true)
      expect(textOf(answer)).toMatch(/^gateway_unreachable: .*\nNext: /)
      expect((await shim.answer(51, 25_000)).result).toEqual(lists.get(way))
      expect(shim.child.exitCode).toBeNull()
    },
    60_000,
  )

  test('and when it is back, calls go through again, and news are told anew', async () => {
    await place.sallyport.restart()
    for (const way of ways) {
      const shim = shims.get(way) as Shim
      expect(await whenBack(shim)).toBe(String(place.upstream.state.counter))
    }
    for (const way of ways) {
      const shim = shims.get(way) as Shim
      await shim.until(
        () => shim.messages.some(({ method }) => method === 'notifications/tools/list_changed'),
        40_000,
      )
    }
    for (const shim of shims.values()) await shim.kill()
  }, 120_000)
})

const call = (id: number, params: object = read): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })

test('a shim that is started while the gateway is away waits for it', async () => {
  await place.sallyport.stop()
  const shim = await place.session.shim('socket')
  const greeted = shim.initialize()
  await place.sallyport.restart()
  expect((await greeted).result.serverInfo.name).toBe('sallyport')
  await shim.kill()
})

test.each(['url', 'socket', 'relay'] as const)(
  'a write during which the gateway is killed is not sent twice by %s, whatever is told',
  async (way) => {
    const by = 100 + ways.indexOf(way)
    const shim = await place.session.shim(way)
    await shim.initialize()
    const params = { name: 'lab__gated_add', arguments: { by } }
    shim.write(`${call(60, params)}\n`)
    await eventually(async () => gate.has(by), Boolean)
    await place.sallyport.kill()
    await place.sallyport.restart()
    gate.get(by)?.()
    const answer = await shim.answer(60, 60_000)
    expect(answer.result.isError ? textOf(answer) : 'done').toMatch(
      /^(?:done|gateway_unreachable|call_in_flight|outcome_unknown|waiting|unknown)/,
    )
    const sent = place.upstream.requests.filter(
      ({ method, text: body }) => method === 'tools/call' && body.includes(`"by":${by}}`),
    )
    expect(sent).toHaveLength(1)
    await shim.kill()
  },
  120_000,
)
