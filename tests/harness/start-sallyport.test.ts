import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type EverythingServer, startEverything } from '../upstreams/everything.ts'
import { isAlive } from './processes.ts'
import { connectAndGrant } from './setup-connection.ts'
import { type Sallyport, startSallyport } from './start-sallyport.ts'

let everything: EverythingServer
const running: Sallyport[] = []

beforeAll(async () => {
  everything = await startEverything()
})
afterEach(async () => {
  for (const sallyport of running.splice(0)) await sallyport.remove()
})
afterAll(() => everything.close())

async function start(): Promise<Sallyport> {
  const sallyport = await startSallyport()
  running.push(sallyport)
  return sallyport
}

const workerState = async ({ api }: Sallyport) => (await api('status.show')).worker

test('starts gateway and worker, stops both with exit code 0 and removes its folder', async () => {
  const sallyport = await start()
  const { pid, dataDir } = sallyport
  const workerPid = sallyport.workerPid() as number
  expect(await workerState(sallyport)).toMatchObject({ state: 'up', pid: workerPid })
  expect(readFileSync(`/proc/${workerPid}/environ`, 'utf8')).toMatch(/^(?:PWD=\/\0)?$/)
  expect(await sallyport.stop()).toBe(0)
  expect([isAlive(pid), isAlive(workerPid)]).toEqual([false, false])
  expect(existsSync(join(dataDir, 'worker', 'worker.sock'))).toBe(false)
  await sallyport.remove()
  expect(existsSync(dataDir)).toBe(false)
})

test('a worker outlives its killed gateway and is adopted by the next one', async () => {
  const sallyport = await start()
  const { pid } = sallyport
  const before = await workerState(sallyport)
  await sallyport.kill()
  expect([isAlive(pid), isAlive(before.pid as number)]).toEqual([false, true])
  await sallyport.restart()
  expect(sallyport.pid).not.toBe(pid)
  expect(await workerState(sallyport)).toEqual(before)
})

test('a dead worker is replaced while the gateway goes on', async () => {
  const sallyport = await start()
  const before = await workerState(sallyport)
  process.kill(before.pid as number, 'SIGKILL')
  await expect
    .poll(() => workerState(sallyport), { timeout: 10_000 })
    .toMatchObject({ state: 'up', pid: expect.not.toSatisfy((pid) => pid === before.pid) })
})

test('removes what is left of a killed gateway', async () => {
  const sallyport = await start()
  const workerPid = sallyport.workerPid() as number
  await sallyport.kill()
  await sallyport.remove()
  expect(isAlive(workerPid)).toBe(false)
  expect(existsSync(sallyport.dataDir)).toBe(false)
})

test('connects a real server, grants its tools and opens a session with them', async () => {
  const sallyport = await start()
  const { url } = everything
  const spec = { name: 'everything', url, profile: 'p', read: ['echo', 'get-sum'] }
  const session = await connectAndGrant(sallyport, spec)
  expect(session).toMatchObject({ state: 'open', unavailable: [] })
  expect(session.connections).toEqual([
    { name: 'everything', endpoint: `${sallyport.guestUrl}/mcp/everything`, tools: 2 },
  ])
})
