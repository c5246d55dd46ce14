/**
 * The way of whoever builds a platform of their own (docs/platforms.md): a session by the API, the shim copied into a plain
 * folder, and a client that knows nothing of Sallyport and starts it as a stdio server.
 */
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shimFile } from '../shim/start-shim.ts'
import { makePlace, type Place } from './client-run.ts'
import { type GovernedRun, startGovernedRun } from './governed-run.ts'
import { findClient } from './install-clients.ts'
import type { Era } from './run-inspector.ts'

const { program } = await findClient('inspector')
const inspectorTest = test.skipIf(program === undefined)
const eras: readonly Era[] = ['legacy', 'auto', 'modern']

let run: GovernedRun
beforeAll(async () => {
  if (program)
    run = await startGovernedRun({ granted: ['counter_read', 'report'], withheld: ['echo'] })
})
afterAll(() => run?.remove())

/** What the platform puts into its sandbox: the shim, and a file with the token. */
async function inspect(era: Era, way: 'token' | 'socket' | 'relay', ...args: string[]) {
  const place: Place = await makePlace('inspector-shim')
  const folder = join(place.work, 'sallyport')
  await mkdir(folder, { mode: 0o700 })
  await copyFile(shimFile, join(folder, 'sallyport-shim.mjs'))
  const [socket, relay] = [join(folder, 'guest.sock'), join(folder, 'relay')]
  const places = { token: {}, socket: { socket }, relay: { relay } }[way]
  const created = await run.sallyport.api('session.create', {}, { profile: 'clients', ...places })
  await writeFile(join(folder, 'token'), `${created.token}\n`, { mode: 0o600 })
  const to = {
    token: ['--url', created.endpoint, '--token-file', join(folder, 'token')],
    socket: ['--socket', socket],
    relay: ['--relay', relay],
  }[way]
  const server = [process.execPath, join(folder, 'sallyport-shim.mjs'), ...to]
  const how = ['--protocol-era', era, ...args, '--format', 'json']
  const started = place.start({
    program: program as string,
    args: ['--cli', ...how, '--', ...server],
  })
  try {
    return await started.ended
  } finally {
    await run.sallyport.api('session.end', { id: created.id }, {})
    await started.remove()
  }
}

inspectorTest.each(eras)('lists what was granted, %s', async (era) => {
  const { stdout, stderr } = await inspect(era, 'token', '--method', 'tools/list')
  const { tools } = JSON.parse(stdout).result as { tools: { name: string }[] }
  expect(tools.map(({ name }) => name).toSorted(), stderr).toEqual([
    'lab__counter_read',
    'lab__report',
  ])
})

inspectorTest.each(
  eras.flatMap((era) => (['token', 'socket', 'relay'] as const).map((way) => [era, way] as const)),
)('calls a tool, %s, by %s', async (era, way) => {
  const before = run.upstream.count('tools/call')
  const named = ['--method', 'tools/call', '--tool-name', 'lab__report']
  const { stdout, stderr, code } = await inspect(era, way, ...named)
  expect(JSON.parse(stdout).result, stderr).toMatchObject({
    content: [{ type: 'text', text: 'The report is in the structure.' }],
    structuredContent: { value: run.upstream.state.counter },
  })
  expect(code).toBe(0)
  expect(run.upstream.count('tools/call')).toBe(before + 1)
  expect(run.upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${run.credential}`)
})
