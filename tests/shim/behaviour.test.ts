/** What a harness may rely on, by each way of the shim: cancelling, news of tools, answers that are lost, several copies. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../system/eventually.ts'
import { defaultTools, text } from '../upstreams/scripted-tools.ts'
import type { ScriptedTool } from '../upstreams/scripted-upstream.ts'
import type { Message, Shim } from './start-shim.ts'
import { makePlace, type Place, type ShimWay, shimWays } from './ways.ts'

let place: Place
/** Calls of `gated_add` that have arrived, by what they add; each waits until it is released. */
const gate = new Map<number, () => void>()
const gated: ScriptedTool = {
  name: 'gated_add',
  inputSchema: { type: 'object', properties: { by: { type: 'integer' } }, required: ['by'] },
  run: async ({ arguments: { by }, state, progress }) => {
    state.effects++
    progress(1, 2)
    await new Promise<void>((resolve) => gate.set(Number(by), resolve))
    return text(`added ${by}`)
  },
}

beforeAll(async () => {
  place = await makePlace({
    tools: [...defaultTools, gated],
    read: ['counter_read', 'echo', 'big'],
    write: ['gated_add'],
  })
})
afterAll(() => place?.remove())

let last = 0
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const eras = { legacy: {}, modern: { _meta: meta } } as const
type Era = keyof typeof eras

/** A call that nobody made before; its number. */
async function begin(shim: Shim, era: Era, id: number, by = ++last, more: object = {}) {
  const { _meta = {} } = eras[era] as { _meta?: object }
  const params = { name: 'lab__gated_add', arguments: { by }, _meta: { ..._meta, ...more } }
  shim.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
  await eventually(async () => gate.has(by), Boolean)
  return by
}

const effectsOf = (by: number): number =>
  place.upstream.requests.filter(
    ({ method, text: sent }) => method === 'tools/call' && sent.includes(`"by":${by}}`),
  ).length

async function started(way: ShimWay, era: Era = 'legacy'): Promise<Shim> {
  const shim = await place.session.shim(way)
  if (era === 'legacy') await shim.initialize()
  return shim
}

const textOf = (message: Message): string =>
  message.result.content.map((block: { text: string }) => block.text).join('\n')

describe.each(shimWays)('by %s', (way) => {
  test('calls are answered as they end, and progress comes before', async () => {
    const shim = await started(way)
    const [first, second] = [
      await begin(shim, 'legacy', 71, ++last, { progressToken: 'p' }),
      await begin(shim, 'legacy', 72),
    ]
    gate.get(second)?.()
    expect(textOf(await shim.answer(72))).toBe(`added ${second}`)
    gate.get(first)?.()
    expect(textOf(await shim.answer(71))).toBe(`added ${first}`)
    const progress = shim.messages.filter(({ method }) => method === 'notifications/progress')
    expect(progress[0].params).toMatchObject({ progressToken: 'p', progress: 1 })
    await shim.kill()
  })

  test('many large answers beside each other never mix', async () => {
    const shim = await started(way)
    const ids = Array.from({ length: 8 }, (_, n) => 200 + n)
    for (const id of ids) {
      const params = { name: 'lab__big', arguments: { bytes: 300_000 + id } }
      shim.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
    }
    for (const id of ids) expect(textOf(await shim.answer(id, 30_000))).toHaveLength(300_000 + id)
    await shim.kill()
  })

  test.each(['legacy', 'modern'] as const)(
    'a cancelled call is not answered, and not sent twice (%s)',
    async (era) => {
      const shim = await started(way, era)
      const by = await begin(shim, era, 7)
      shim.tell('notifications/cancelled', { requestId: 7, reason: 'the user' })
      gate.get(by)?.()
      await shim.ask('ping', {}, 'after')
      const again = await collect(shim, era, by, 8)
      expect(textOf(again)).toContain(`added ${by}`)
      expect(shim.messages.filter(({ id }) => id === 7)).toEqual([])
      expect(effectsOf(by)).toBe(1)
      await shim.kill()
    },
  )

  test.each(['legacy', 'modern'] as const)('tells when the tools change (%s)', async (era) => {
    const shim = await started(way, era)
    const isNews = ({ method }: Message) => method === 'notifications/tools/list_changed'
    if (era === 'modern') {
      const params = { notifications: { toolsListChanged: true }, _meta: meta }
      shim.write(
        `${JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'subscriptions/listen', params })}\n`,
      )
      await shim.until(() => shim.messages.some(({ method }) => /acknowledged$/.test(method)))
    }
    // The stream of the legacy eras is opened behind the answer to `initialize`.
    const { api } = place.sallyport
    await eventually(async () => {
      await api('connection.disable', { name: 'lab' })
      await api('connection.enable', { name: 'lab' })
      return shim.messages.filter(isNews).length > 1
    }, Boolean)
    expect(shim.messages.filter(isNews)[0].params ?? {}).toEqual(
      era === 'modern' ? { _meta: { 'io.modelcontextprotocol/subscriptionId': 9 } } : {},
    )
    await shim.kill()
  })

  test('an answer that the harness does not take is there for the next copy', async () => {
    const shim = await started(way)
    const by = await begin(shim, 'legacy', 5)
    // Its stdout is closed, as that of a harness that has ended.
    shim.child.stdout?.destroy()
    gate.get(by)?.()
    await shim.exited()
    const next = await started(way)
    const answer = await collect(next, 'legacy', by, 6)
    expect(textOf(answer)).toContain(`added ${by}`)
    expect(textOf(answer)).toContain('identical earlier call')
    expect(effectsOf(by)).toBe(1)
    await next.kill()
  })

  test('an answer that the harness took is not given again: the next call is a new one', async () => {
    const shim = await started(way)
    const by = await begin(shim, 'legacy', 5)
    gate.get(by)?.()
    expect(textOf(await shim.answer(5))).toBe(`added ${by}`)
    gate.delete(by)
    await begin(shim, 'legacy', 6, by)
    gate.get(by)?.()
    expect(textOf(await shim.answer(6))).toBe(`added ${by}`)
    expect(effectsOf(by)).toBe(2)
    await shim.kill()
  })

  test('the end of stdin waits for what is on its way, also behind a line without an end', async () => {
    const shim = await started(way)
    await begin(shim, 'legacy', 5).then((by) => setTimeout(() => gate.get(by)?.(), 300))
    shim.write('{"jsonrpc":"2.0","id":6,"method":"ping"}')
    await shim.end()
    expect(shim.messages.slice(1).map(({ id }) => id)).toEqual([6, 5])
  })
})

/** What the next identical call gets, once the earlier one has ended. */
async function collect(shim: Shim, era: Era, by: number, id: number): Promise<Message> {
  const { _meta = {} } = eras[era] as { _meta?: object }
  return shim.ask('tools/call', { name: 'lab__gated_add', arguments: { by }, _meta }, id)
}

test.each(['socket', 'url', 'relay'] as const)(
  'five copies by %s count alike, and nobody hears or cancels what is of another',
  async (way) => {
    const shims = await Promise.all([1, 2, 3, 4, 5].map(() => started(way)))
    const added = await Promise.all(shims.map((shim) => begin(shim, 'legacy', 77)))
    shims[2]?.tell('notifications/cancelled', { requestId: 77 })
    await shims[2]?.ask('ping')
    for (const by of added) gate.get(by)?.()
    for (const [n, shim] of shims.entries()) {
      if (n === 2) continue
      await shim.answer(77)
      const answers = shim.messages.filter(({ id }) => id === 77)
      expect(answers.map(textOf)).toEqual([`added ${added[n]}`])
    }
    expect(shims[2]?.messages.filter(({ id }) => id === 77)).toEqual([])
    expect(added.map(effectsOf)).toEqual([1, 1, 1, 1, 1])
    for (const shim of shims) await shim.kill()
  },
)
