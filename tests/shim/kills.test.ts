/**
 * A shim that is killed at any moment of a call, and the next copy, which asks the same until it sees the answer: as a
 * harness and its model do. Twenty kills, two hundred with `npm run test:all`. `SALLYPORT_TEST_SEED` repeats a run.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../system/random.ts'
import { text } from '../upstreams/scripted-tools.ts'
import type { ScriptedTool } from '../upstreams/scripted-upstream.ts'
import type { Message, Shim } from './start-shim.ts'
import { makePlace, type Place, type SessionPlace, type ShimWay, shimWays } from './ways.ts'

const kills = process.env['SALLYPORT_TEST_ALL'] === '1' ? 200 : 20
const random = seededRandom()

let place: Place
const effects = new Map<number, number>()
const tool: ScriptedTool = {
  name: 'add',
  inputSchema: {
    type: 'object',
    properties: { n: { type: 'integer' }, ms: { type: 'integer' } },
    required: ['n', 'ms'],
  },
  run: async ({ arguments: { n, ms } }) => {
    effects.set(Number(n), (effects.get(Number(n)) ?? 0) + 1)
    await wait(Number(ms))
    return text(`added ${n}`)
  },
}

beforeAll(async () => {
  place = await makePlace({ tools: [tool], read: [], write: ['add'] })
})
afterAll(() => place?.remove())

/** The answer, when the shim has told it before it died. */
const seenBy = (shim: Shim, id: number): Message | undefined =>
  shim.messages.find((message) => message.id === id)

async function killDuringCall(session: SessionPlace, way: ShimWay, n: number): Promise<number> {
  const ms = random.below(30)
  const params = { name: 'lab__add', arguments: { n, ms } }
  const request = `${JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params })}\n`
  let killed = 0
  for (;;) {
    const shim = await session.shim(way)
    // Half of them are killed while they start.
    if (random.next() < 0.5) await shim.ask('ping', {}, 'up')
    shim.write(request)
    if (killed < 3) {
      await Promise.race([wait(random.next() * 120), shim.answer(n).catch(() => {})])
      await wait(random.next() * 3)
      await shim.kill()
      killed++
    } else {
      await shim.answer(n, 30_000)
      await shim.kill()
    }
    const answer = seenBy(shim, n)
    if (answer === undefined) continue
    expect(answer.result?.content?.[0]?.text, JSON.stringify(answer)).toBe(`added ${n}`)
    return killed
  }
}

test.each(shimWays)(
  `by %s (seed ${random.seed}) nothing is done twice, and the next copy works`,
  async (way) => {
    const session = await place.openSession()
    let killed = 0
    for (let n = 1_000 * shimWays.indexOf(way); killed < kills; n++) {
      killed += await killDuringCall(session, way, n)
      expect(effects.get(n), `call ${n}`).toBe(1)
    }
  },
  60_000 + kills * 3_000,
)
