/** A shim of another release than the gateway. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errors } from '@sallyport/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shimFile } from './start-shim.ts'
import { makePlace, type Place, shimWays } from './ways.ts'

let place: Place
const folder = mkdtempSync(join(tmpdir(), 'sallyport-release-'))
const other = join(folder, 'sallyport-shim.mjs')
beforeAll(async () => {
  const built = readFileSync(shimFile, 'utf8')
  const changed = built.replaceAll('`0.1.0`', '`0.0.9`')
  expect(changed).not.toBe(built)
  writeFileSync(other, changed)
  place = await makePlace()
})
afterAll(async () => {
  await place?.remove()
  rmSync(folder, { recursive: true })
})

test.each(shimWays)('by %s it is told how it is replaced, and reaches nothing', async (way) => {
  const before = place.upstream.count('tools/call')
  const refusal = { code: errors.wrong_shim.rpc, message: errors.wrong_shim.text }
  const old = await place.session.shim(way, [], undefined, other)
  const params = { protocolVersion: '2025-11-25', capabilities: {} }
  expect((await old.ask('initialize', params)).error).toEqual(refusal)
  const read = { name: 'lab__counter_read', arguments: {} }
  expect((await old.ask('tools/call', read)).error).toEqual(refusal)
  expect(refusal.message).toContain('sallyport-shim.mjs')
  await old.kill()
  expect(place.upstream.count('tools/call')).toBe(before)
  const shim = await place.session.shim(way)
  expect((await shim.ask('tools/call', read)).result.isError).toBeUndefined()
  await shim.kill()
})
