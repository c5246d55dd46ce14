import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Denials } from '../outlets/denials.ts'
import type { Resolve } from '../outlets/reach.ts'
import { AllowedHosts } from './allowed-hosts.ts'
import { ForwardProxy, type ForwardProxyOptions } from './forward-proxy.ts'

// What is reached is seen in `tests/sandbox/ways-out.test.ts`, where there is a network for it.

/** For a machine with much else to do. */
const soon = { timeout: 10_000 }

let folder: string
let proxy: ForwardProxy | undefined
let asked: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-proxy-'))
  asked = []
})
afterEach(async () => {
  await proxy?.close()
  rmSync(folder, { recursive: true })
})

const nobody: Resolve = async (name) => {
  asked.push(name)
  return []
}
const socketPath = () => join(folder, 'proxy.sock')

async function open(more: Partial<ForwardProxyOptions> = {}): Promise<void> {
  proxy = await ForwardProxy.open({
    socketPath: socketPath(),
    allowed: new AllowedHosts(['a.example']),
    denials: new Denials({ resolve: nobody, onGrown: () => undefined }),
    resolve: nobody,
    admits: () => true,
    ...more,
  })
}

/** All that comes back. */
function say(words: string): Promise<string> {
  const socket = connect(socketPath())
  socket.on('error', () => undefined)
  socket.write(words)
  return text(socket)
}
const ask = (host: string) => say(`CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)

test('a host that was not named is not even asked for', async () => {
  await open()
  const answer = await ask('b.example:443')
  expect(answer).toMatch(/^HTTP\/1.1 403 /)
  expect(answer).toContain('"code":"host_denied"')
  expect(asked).toEqual([])
})

test('the control: one that was named is asked for, and told as not there when nobody is', async () => {
  await open()
  const answer = await ask('a.example:443')
  expect(answer).toMatch(/^HTTP\/1.1 502 /)
  expect(answer).toContain('"code":"host_unreachable"')
  expect(asked).toEqual(['a.example'])
})

test.each(['10.1.2.3', '127.0.0.1', '169.254.169.254', '::1', 'fd00::1', '::ffff:8.8.8.8'])(
  'a name behind which %s stands leads nowhere, whoever else is behind it',
  async (address) => {
    await open({ resolve: async () => ['8.8.8.8', address] })
    expect(await ask('a.example:443')).toContain('"code":"host_denied"')
  },
)

test('anything but CONNECT is told what would be', async () => {
  await open()
  const words = 'GET http://a.example/ HTTP/1.1\r\nhost: a.example\r\n\r\n'
  const answer = await say(words)
  expect(answer).toMatch(/^HTTP\/1.1 405 /)
  expect(answer.toLowerCase()).toContain('allow: connect')
  expect(asked).toEqual([])
})

test('more tunnels at once than there may be are told to come later', async () => {
  let answer: (addresses: string[]) => void = () => undefined
  const pending = new Promise<string[]>((resolve) => {
    answer = resolve
  })
  const resolve: Resolve = (name) => {
    asked.push(name)
    return pending
  }
  await open({ resolve, limits: { tunnels: 1 } })
  const first = ask('a.example:443')
  await expect.poll(() => asked, soon).toEqual(['a.example'])
  expect(await ask('a.example:443')).toContain('"code":"too_many"')
  answer([])
  expect(await first).toContain('"code":"host_unreachable"')
  expect(await ask('a.example:443')).toContain('"code":"host_unreachable"')
})

test('whoever is not admitted is not answered, and the socket is of its user alone', async () => {
  let isAdmitted = false
  await open({ admits: () => isAdmitted })
  await expect(ask('b.example:443').catch(() => '')).resolves.toBe('')
  isAdmitted = true
  expect(await ask('b.example:443')).toContain('host_denied')
  expect(statSync(socketPath()).mode & 0o777).toBe(0o600)
})
