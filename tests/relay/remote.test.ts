/** The shim in a sandbox that is reached by nothing but a slow file API that counts. */
import { release } from '@sallyport/protocol'
import { afterEach, expect, test } from 'vitest'
import { eventually } from '../../apps/gateway/src/mcp/scripted-guest.ts'
import { startWorld, type World } from '../../apps/gateway/src/relay/relay-world.ts'
import { Shim } from '../shim/start-shim.ts'
import { RemoteFiles, type RemoteOptions } from './remote-files.ts'

let world: World
let shims: Shim[] = []
let remote: RemoteFiles
afterEach(async () => {
  for (const shim of shims) await shim.kill()
  shims = []
  await world.end()
})

const call = { name: 'files__write', arguments: {} }
const wake = { activeMs: 100, idleMs: 1_500 }

const self = () => ({ v: 1, release, gateway: 'g', at: Date.now(), waitMs: 60_000 })

async function start(options: RemoteOptions) {
  world = await startWorld({
    files: (local) => {
      remote = new RemoteFiles(local, options)
      return remote
    },
    relay: { wake, now: Date.now, self },
  })
  const shim = new Shim({ args: ['--relay', world.folder] })
  shims.push(shim)
  return shim
}

test('with 200 ms for each file a call is answered, and counted as collected', async () => {
  const shim = await start({ latencyMs: 200, perMinute: 1_000 })
  await shim.initialize()
  const began = performance.now()
  expect((await shim.ask('tools/call', call)).result.content[0].text).toBe('done')
  expect(performance.now() - began).toBeLessThan(5_000)
  await eventually(() => world.log.length > 0)
  expect(world.log[0]).toMatch(/collected$/)
})

test('calls of two copies do not wait for each other', async () => {
  const first = await start({ latencyMs: 200, perMinute: 1_000 })
  const second = new Shim({ args: ['--relay', world.folder] })
  shims.push(second)
  const began = performance.now()
  const asked = shims.flatMap((shim) => [1, 2, 3, 4].map(() => shim.ask('ping')))
  expect((await Promise.all(asked)).map(({ result }) => result)).toEqual(asked.map(() => ({})))
  expect(performance.now() - began).toBeLessThan(10_000)
  expect(first.stderr + second.stderr).toBe('')
})

test('looks rarely while nothing happens', async () => {
  const shim = await start({ latencyMs: 20, perMinute: 1_000 })
  await shim.ask('ping')
  // Until it has slowed down.
  let before = 0
  await eventually(() => {
    before = remote.asked
    return before > 13
  })
  const began = performance.now()
  await eventually(() => remote.asked >= before + 2)
  const perMinute = (2 * 60_000) / (performance.now() - began)
  expect(perMinute).toBeLessThan(200)
})

test('a provider that refuses for a while is asked again, and nothing is asked twice', async () => {
  const shim = await start({ latencyMs: 5, perMinute: 12 })
  const answers = [1, 2].map((id) => shim.ask('tools/call', call, id))
  await eventually(() => remote.refused > 3)
  remote.forgive()
  const told = await Promise.all(answers)
  for (const { result } of told)
    expect(result.content[0].text).toMatch(/^done|^gateway_unreachable/)
  expect(new Set(world.calls.map(({ callId }) => callId)).size).toBe(world.calls.length)
})
