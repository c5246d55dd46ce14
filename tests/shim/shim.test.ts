/** What a shim does by each of its ways, with a whole Sallyport behind it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makePlace, type Place, shimWays } from './ways.ts'

let place: Place
beforeAll(async () => {
  place = await makePlace()
})
afterAll(() => place?.remove())

test.each(shimWays)('by %s a harness reads a counter and sees it', async (way) => {
  const shim = await place.session.shim(way)
  const { result } = await shim.initialize()
  expect(result).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'sallyport' } })
  const { tools } = (await shim.ask('tools/list')).result
  expect(tools.map((tool: { name: string }) => tool.name)).toContain('lab__counter_read')
  const answer = await shim.ask('tools/call', { name: 'lab__counter_read', arguments: {} })
  expect(answer.result.content[0].text).toBe(String(place.upstream.state.counter))
  expect(shim.stderr).toBe('')
  const code = await shim.end()
  expect(code).toBe(way === 'device' ? null : 0)
})
