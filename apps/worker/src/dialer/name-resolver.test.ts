import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { type DnsAnswer, ScriptedNameServer, type Zone } from '../testing/scripted-name-server.ts'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { HostsFile } from './hosts-file.ts'
import { NameResolver } from './name-resolver.ts'

const servers: ScriptedNameServer[] = []
const folder = mkdtempSync(join(tmpdir(), 'sallyport-hosts-'))
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})
afterAll(() => rmSync(folder, { recursive: true }))

const hosts = join(folder, 'hosts')
const none = new HostsFile(join(folder, 'none'))

async function start(zone: Zone, hostsFile = none) {
  const server = await ScriptedNameServer.start(zone)
  servers.push(server)
  const clock = new SteppedClock()
  const resolver = new NameResolver({ clock, nameServers: [server.address], hostsFile })
  return { server, clock, resolve: (name: string) => resolver.resolve(name, 5_000) }
}

const four = (...values: string[]): DnsAnswer => ({
  records: values.map((value) => ({ type: 'A', value })),
})
const six = (...values: string[]): DnsAnswer => ({
  records: values.map((value) => ({ type: 'AAAA', value })),
})
const nothing: DnsAnswer = {}
const code = (expected: string) => ({ code: expected })

test('every address of both families comes, in turn', async () => {
  const { resolve, server } = await start((_, kind) =>
    kind === 'A' ? four('192.0.2.1', '192.0.2.2', '192.0.2.3') : six('2001:db8::1'),
  )
  expect(await resolve('mcp.test')).toEqual(['192.0.2.1', '2001:db8::1', '192.0.2.2', '192.0.2.3'])
  expect(server.asked.sort()).toEqual(['mcp.test A', 'mcp.test AAAA'])
})

test('one family is enough, whatever is said of the other', async () => {
  for (const other of [nothing, { code: 2 }, { code: 3 }, { code: 5 }]) {
    const { resolve } = await start((_, kind) => (kind === 'A' ? other : six('2001:db8::1')))
    expect(await resolve('mcp.test')).toEqual(['2001:db8::1'])
  }
})

test('the family that is never answered is waited for a second', async () => {
  const { resolve, clock, server } = await start((_, kind) =>
    kind === 'A' ? four('192.0.2.1') : undefined,
  )
  const found = resolve('mcp.test')
  await expect.poll(() => server.asked).toContain('mcp.test AAAA')
  await expect.poll(() => clock.waiting).toBe(2)
  clock.step(1_000)
  expect(await found).toEqual(['192.0.2.1'])
})

test.each([
  ['says nothing', nothing],
  ['knows no such name', { code: 3 }],
  ['fails', { code: 2 }],
])('a server that %s gives no address', async (_what, answer) => {
  const { resolve } = await start(() => answer)
  await expect(resolve('mcp.test')).rejects.toMatchObject(code('upstream_dns'))
})

test('the answer to another question is not taken', async () => {
  const { resolve, clock, server } = await start(() => ({ ...four('192.0.2.1'), strayed: true }))
  const found = resolve('mcp.test')
  found.catch(() => {})
  await expect.poll(() => server.asked.length).toBeGreaterThan(1)
  clock.step(5_000)
  await expect(found).rejects.toMatchObject(code('upstream_dns'))
})

test('a server that never answers is not waited for', async () => {
  const { resolve, clock, server } = await start(() => undefined)
  const found = resolve('mcp.test')
  found.catch(() => {})
  await expect.poll(() => server.asked.length).toBeGreaterThan(1)
  clock.step(5_000)
  await expect(found).rejects.toMatchObject(code('upstream_dns'))
})

test('names that are never answered do not hold up others', async () => {
  const { resolve, clock, server } = await start((name, kind) => {
    if (name.startsWith('silent')) return undefined
    return kind === 'A' ? four('192.0.2.1') : nothing
  })
  const silent = Array.from({ length: 64 }, (_, index) => resolve(`silent${index}.test`))
  for (const one of silent) one.catch(() => {})
  await expect.poll(() => server.asked.length).toBeGreaterThanOrEqual(128)
  expect(await resolve('mcp.test')).toEqual(['192.0.2.1'])
  clock.step(5_000)
  expect((await Promise.allSettled(silent)).every(({ status }) => status === 'rejected')).toBe(true)
})

test('an alias leads to the addresses of the name it stands for', async () => {
  const { resolve } = await start((_, kind) => ({
    records: [
      { type: 'CNAME', value: 'other.test' },
      ...(kind === 'A' ? [{ name: 'other.test', type: 'A', value: '10.0.0.1' } as const] : []),
    ],
  }))
  expect(await resolve('mcp.test')).toEqual(['10.0.0.1'])
})

test('an answer that does not fit is asked for over a connection', async () => {
  const many = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`)
  const { resolve } = await start((_, kind) =>
    kind === 'A' ? { ...four(...many), truncated: true } : nothing,
  )
  expect(await resolve('mcp.test')).toHaveLength(200)
})

test('what the hosts file says is not asked for, and its changes count at once', async () => {
  writeFileSync(
    hosts,
    '# ours\n127.0.0.1 localhost\n192.0.2.7\tMcp.test alias # 192.0.2.8 no\nbad mcp.test\n',
  )
  const { resolve, server } = await start(() => four('192.0.2.1'), new HostsFile(hosts))
  expect(await resolve('mcp.test')).toEqual(['192.0.2.7'])
  expect(await resolve('alias')).toEqual(['192.0.2.7'])
  expect(server.asked).toEqual([])
  writeFileSync(hosts, '192.0.2.9 mcp.test\n2001:db8::9 mcp.test\n')
  expect(await resolve('mcp.test')).toEqual(['192.0.2.9', '2001:db8::9'])
  writeFileSync(hosts, '')
  expect(await resolve('mcp.test')).toContain('192.0.2.1')
})
