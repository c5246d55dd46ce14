/** The shim by each of its ways, while a call of it is held: what has the token of its session is told apart from what has not. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyFiles, vaultKeyFile } from '../keys/key-world.ts'
import { makePlace, type Place, shimWays } from '../shim/ways.ts'
import { type ScriptedTool, text } from '../upstreams/scripted-upstream.ts'
import { LeakScan } from './leak-scan.ts'

const bearer = `crd-${randomBytes(24).toString('hex')}`
let reached: () => void
let released: Promise<void>
const hold: ScriptedTool = {
  name: 'hold',
  description: 'Waits.',
  inputSchema: { type: 'object' },
  run: async () => {
    reached()
    await released
    return text('released')
  },
}

let place: Place
beforeAll(async () => {
  place = await makePlace({ read: ['hold'], write: [], tools: [hold], bearer })
})
afterAll(() => place.remove())

test.each(shimWays)(
  'by %s no secret but what was given to it is in the shim or on its way',
  async (way) => {
    const { sallyport } = place
    const session = await place.openSession()
    const pem = keyFiles(vaultKeyFile(sallyport))['vault.key'] ?? ''
    const [, vaultKey = ''] = /KEY-----\n([A-Za-z0-9+/=]+)\n/.exec(pem) ?? []
    const scan = new LeakScan({
      'upstream credential': bearer,
      'vault key': vaultKey,
      'session token': session.token,
      'control token': sallyport.adminToken,
    })
    const shim = await session.shim(way)
    await shim.initialize()
    const isReached = new Promise<void>((resolve) => {
      reached = resolve
    })
    let release = (): void => undefined
    released = new Promise((resolve) => {
      release = resolve
    })
    const answered = shim.ask('tools/call', { name: 'lab__hold', arguments: {} })
    await isReached
    await scan.lookAtGuest(shim.pid)
    if (way === 'relay') scan.lookAtFolder('file', session.relay, true)
    scan.look('log', 'gateway', sallyport.output())
    scan.look('log', 'worker', readFileSync(join(sallyport.dataDir, 'gateway', 'worker.log')))
    scan.lookAtDatabase(join(sallyport.dataDir, 'sallyport.db'))
    release()
    expect(await answered).toMatchObject({ result: { content: [{ text: 'released' }] } })
    scan.look('output', way, `${shim.lines.join('\n')}\n${shim.stderr}`)
    await shim.kill()
    const found = scan.leaks().map(({ place: where, secret }) => `${where}: ${secret}`)
    // Only over HTTP it is the token that lets it in: it read the file that it was named.
    expect([...new Set(found)]).toEqual(way === 'url' ? ['guest memory: session token'] : [])
    for (const where of [
      'guest argument',
      'guest environment',
      'guest descriptor',
      'guest memory',
    ] as const)
      expect(scan.looked(where), where).toBeGreaterThan(0)
  },
)
