import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { destinationsBeside, openDoors } from './doors.ts'
import { parseUpOptions, type UpOptions } from './options.ts'
import { Undo } from './undo.ts'

const options = (...flags: string[]): UpOptions => {
  const parsed = parseUpOptions(['--port', '0', '--guest-port', '0', ...flags], {})
  if (!parsed) throw new Error('help')
  return parsed
}

async function doorsFor(options: UpOptions) {
  const undo = new Undo()
  const doors = await openDoors(options, undo)
  await undo.run()
  return doors
}

test('a listener knows the address it is bound to, whatever it was called', async () => {
  const { control, guest } = await doorsFor(options('--host', 'localhost'))
  for (const { addresses } of [control, guest]) {
    expect(addresses).toHaveLength(1)
    expect(['127.0.0.1', '::1']).toContain(addresses[0])
  }
})

test('a listener on every address knows each address of the machine', async () => {
  const public_ = ['--behind-tls', '--public-url', 'https://sallyport.example.com']
  const { guest } = await doorsFor(options('--host', '0.0.0.0', ...public_))
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  expect(all.length).toBeGreaterThan(0)
  for (const { address } of all) expect(guest.addresses).toContain(address)
})

test('whoever comes before all is there hears that it is starting, and when to come again', async () => {
  const undo = new Undo()
  const { control, guest } = await openDoors(options(), undo)
  const early = await fetch(`http://127.0.0.1:${control.port}/api/v1/sessions`)
  expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await early.json()).toMatchObject({ error: { code: 'starting', retry: true } })
  const atGuest = await fetch(`http://127.0.0.1:${guest.port}/mcp`, { method: 'POST' })
  expect([atGuest.status, atGuest.headers.get('retry-after')]).toEqual([503, '1'])
  await undo.run()
})

test.each([
  ['127.0.0.1', 7400, true],
  ['localhost', 7401, true],
  ['[::1]', 7401, true],
  ['sallyport.example.com', 443, true],
  ['sallyport.example.com', 8443, false],
  ['127.0.0.1', 7402, false],
  ['mcp.example.com', 7400, false],
  ['mcp.example.com', 443, false],
] as const)('%s:%i is one of our own: %s', async (host, port, isOwn) => {
  const given = options('--behind-tls', '--public-url', 'https://sallyport.example.com/')
  const { control, guest } = await doorsFor(given)
  const doors = { control: { ...control, port: 7400 }, guest: { ...guest, port: 7401 }, serve() {} }
  expect(destinationsBeside(doors, given).isOwn({ scheme: 'https', host, port })).toBe(isOwn)
})
