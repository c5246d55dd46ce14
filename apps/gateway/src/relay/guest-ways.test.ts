/** The ways of single sessions: made with them, open again after a restart, gone with them. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@sallyport/core'
import { release } from '@sallyport/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScriptedEndpoint, startScripted } from '../mcp/scripted-core.ts'
import { eventually, rpc } from '../mcp/scripted-guest.ts'
import { GuestWays } from './guest-ways.ts'

let at: ScriptedEndpoint
let folder: string
let dataDir: string
let ways: GuestWays
let state: Session['state']
const reports: unknown[] = []
const session = { id: 'ses_1', state: 'open' } as Session

const newWays = (holdMs = 1_000): GuestWays =>
  new GuestWays({
    endpoint: at.endpoint,
    session: async () => ({ ...session, state }),
    holdMs: async () => holdMs,
    messageLimit: () => 4_194_304,
    dataDir,
    now: Date.now,
    report: (error) => void reports.push(error),
    admits: async () => true,
  })

beforeEach(async () => {
  at = await startScripted({ options: { release } })
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-ways-')))
  dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-ways-data-')))
  state = 'open'
  ways = newWays()
})
afterEach(async () => {
  await ways.close()
  await at.close()
  for (const path of [folder, dataDir]) rmSync(path, { recursive: true, force: true })
  expect(reports.splice(0)).toEqual([])
})

const socketPath = () => join(folder, 'guest.sock')
const relayPath = () => join(folder, 'relay')
const open = async (which: GuestWays, places: { socket?: string; relay?: string }) =>
  which.open(session, await which.check(places))

/** One ping over HTTP; undefined when nobody is there. */
function ping(): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' }
    const asked = { socketPath: socketPath(), path: '/mcp', method: 'POST', headers, agent: false }
    const req = request(asked, (res) => {
      res.resume()
      resolve(res.statusCode)
    })
    req.on('error', () => resolve(undefined))
    req.end(rpc('ping'))
  })
}

test('a socket is for its user alone, serves its session without a bearer, and goes with it', async () => {
  await open(ways, { socket: socketPath() })
  expect(statSync(socketPath()).mode & 0o777).toBe(0o600)
  expect(await ping()).toBe(200)
  await ways.look()
  expect(await ping()).toBe(200)
  state = 'ended'
  await ways.look()
  expect(await ping()).toBeUndefined()
  expect(existsSync(socketPath())).toBe(false)
})

test('what is open on a socket ends with its session', async () => {
  await open(ways, { socket: socketPath() })
  const socket = connect(socketPath())
  let isClosed = false
  socket.on('close', () => {
    isClosed = true
  })
  socket.on('error', () => {})
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  state = 'ended'
  await ways.look()
  await eventually(() => isClosed)
})

test('a relay folder is made, for its user alone, and goes with its session', async () => {
  await open(ways, { relay: relayPath() })
  expect(statSync(relayPath()).mode & 0o777).toBe(0o700)
  expect(existsSync(join(relayPath(), 'sallyport.json'))).toBe(true)
  state = 'ended'
  await ways.look()
  expect(existsSync(relayPath())).toBe(false)
})

test.each([
  [1_000, 60_000],
  [600_000, 600_000],
])('whose calls are held %i ms is told to wait %i ms at least', async (holdMs, waitMs) => {
  await ways.close()
  ways = newWays(holdMs)
  await open(ways, { relay: relayPath() })
  const told = JSON.parse(readFileSync(join(relayPath(), 'sallyport.json'), 'utf8'))
  expect(told).toMatchObject({ waitMs })
})

test('a relay folder with files that are not ours stays', async () => {
  await open(ways, { relay: relayPath() })
  writeFileSync(join(relayPath(), 'notes.txt'), 'x')
  state = 'ended'
  await ways.look()
  expect(existsSync(join(relayPath(), 'notes.txt'))).toBe(true)
  expect(existsSync(join(relayPath(), 'sallyport.json'))).toBe(false)
})

test('a gateway that starts again opens them again, and those of ended sessions go', async () => {
  await open(ways, { socket: socketPath(), relay: relayPath() })
  await ways.close()
  expect(await ping()).toBeUndefined()
  ways = newWays()
  await ways.restore()
  expect(await ping()).toBe(200)
  await ways.close()
  state = 'ended'
  ways = newWays()
  await ways.restore()
  expect(await ping()).toBeUndefined()
  expect([existsSync(socketPath()), existsSync(relayPath())]).toEqual([false, false])
})

test('after a kill the socket that was left there is replaced', async () => {
  await open(ways, { socket: socketPath() })
  const killed = ways
  ways = newWays()
  await ways.restore()
  expect(await ping()).toBe(200)
  await killed.close()
  await ways.close()
})

test('takes only new names, in a folder that nobody else can write to, outside the data folder', async () => {
  const check = (socket: string) => ways.check({ socket })
  const refused = { code: 'bad_guest_path', field: 'socket' }
  expect(await check(socketPath())).toEqual({ socket: socketPath() })
  await expect(check('guest.sock')).rejects.toMatchObject(refused)
  await expect(check(join(folder, 'no', 'guest.sock'))).rejects.toMatchObject(refused)
  await expect(check(join(folder, 'x'.repeat(120)))).rejects.toMatchObject(refused)
  await expect(check(join(dataDir, 'guest.sock'))).rejects.toMatchObject(refused)
  await expect(check(`${folder}/\0`)).rejects.toMatchObject(refused)
  writeFileSync(join(folder, 'taken'), '')
  symlinkSync('/nowhere', join(folder, 'link'))
  for (const name of ['taken', 'link'])
    await expect(check(join(folder, name)), name).rejects.toMatchObject(refused)
  const shared = join(folder, 'shared')
  mkdirSync(shared)
  const { chmodSync } = await import('node:fs')
  chmodSync(shared, 0o777)
  await expect(check(join(shared, 'guest.sock'))).rejects.toMatchObject(refused)
  chmodSync(shared, 0o755)
  expect(await check(join(shared, 'guest.sock'))).toHaveProperty('socket')
})

test('a link in the way is resolved, and does not lead into the data folder', async () => {
  symlinkSync(dataDir, join(folder, 'way'))
  await expect(ways.check({ relay: join(folder, 'way', 'relay') })).rejects.toMatchObject({
    code: 'bad_guest_path',
    field: 'relay',
  })
})

test('when one of two cannot be made, nothing is left', async () => {
  const places = await ways.check({ socket: socketPath(), relay: relayPath() })
  mkdirSync(relayPath())
  await expect(ways.open(session, places)).rejects.toMatchObject({ code: 'bad_guest_path' })
  expect(existsSync(socketPath())).toBe(false)
  expect(await ping()).toBeUndefined()
})
