/** Tricks around an egress proxy: the one of the operator, and those that the environment names. */
import assert from 'node:assert/strict'
import { request } from 'node:https'
import type { Zone } from '../../../apps/worker/src/testing/scripted-name-server.ts'
import { type NamesWorld, open, type Trick } from '../inside/names-world.ts'

const blocked = 'upstream_blocked_address'
const url = 'https://mcp.dev/'
const leadingTo =
  (address: string): Zone =>
  (_name, kind) => ({
    records: kind === 'A' ? [{ type: kind, value: address }] : [],
  })

async function behind(world: NamesWorld, resolves: boolean) {
  const proxy = await world.proxy()
  const dialer = world.dialer({ proxy: { host: '127.0.0.1', port: proxy.port, resolves } })
  return { proxy, dialer }
}

/** As a client of Node does it, which believes the environment. */
function askAsUsual(): Promise<void> {
  return new Promise((resolve) => {
    const asked = request(url, { timeout: 500 })
    asked.on('timeout', () => asked.destroy())
    asked.on('error', () => {})
    asked.on('close', resolve)
    asked.end()
  })
}

export const proxyTricks: readonly Trick[] = [
  {
    what: 'proxies of the environment are not asked',
    play: async (world) => {
      for (const name of ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'HTTP_PROXY'])
        assert.match(process.env[name] ?? '', /^http:\/\/93\.184\.215\.66:8443$/)
      assert.equal(process.env['NODE_USE_ENV_PROXY'], '1')
      world.zone = leadingTo(open)
      assert.equal(await world.fetch(url), 'answered')
      assert.deepEqual(await world.arrived(), [open])
      // They are there to be found by whoever looks for them.
      await askAsUsual()
      assert.deepEqual(await world.arrived(), ['93.184.215.66'])
    },
  },
  {
    what: 'behind a proxy, a name that changes is asked for by the address that was judged',
    play: async (world) => {
      const { proxy, dialer } = await behind(world, false)
      world.zone = (name, kind, times) =>
        leadingTo(times === 0 ? open : '10.0.0.1')(name, kind, times)
      assert.equal(await world.fetch(url, dialer), 'answered')
      assert.equal(await world.fetch(url, dialer), blocked)
      assert.deepEqual(proxy.asked, [`${open}:443`])
    },
  },
  {
    what: 'behind a proxy that resolves, a name that is private here is not asked for',
    play: async (world) => {
      const { proxy, dialer } = await behind(world, true)
      for (const address of ['10.0.0.1', '169.254.169.254', '127.0.0.1']) {
        world.zone = leadingTo(address)
        assert.equal(await world.fetch(url, dialer), blocked)
      }
      assert.deepEqual(proxy.asked, [])
      world.zone = () => ({ code: 3 })
      assert.equal(await world.fetch(url, dialer), 'answered')
      assert.deepEqual(proxy.asked, ['mcp.dev:443'])
    },
  },
  {
    what: 'behind a proxy that resolves, names of special use and addresses are not asked for',
    play: async (world) => {
      const { proxy, dialer } = await behind(world, true)
      world.zone = () => ({ code: 3 })
      for (const host of ['metadata.google.internal', 'printer.local', 'metadata', 'localhost'])
        assert.equal(await world.fetch(`https://${host}/`, dialer), blocked)
      for (const host of ['127.0.0.1', '0x7f.1', '[::1]', '169.254.169.254', '[::ffff:a00:1]'])
        assert.equal(await world.fetch(`https://${host}/`, dialer), blocked)
      assert.deepEqual(proxy.asked, [])
      assert.equal(await world.fetch(url, dialer), 'answered')
    },
  },
  {
    what: 'a proxy that leads to another server is found out by the certificate',
    play: async (world) => {
      const { dialer } = await behind(world, false)
      world.zone = leadingTo(open)
      assert.equal(await world.fetch('https://elsewhere.dev/', dialer), 'upstream_tls')
      assert.equal(await world.fetch(url, dialer), 'answered')
    },
  },
  {
    what: 'a proxy is not passed by when it does not answer',
    play: async (world) => {
      const { proxy, dialer } = await behind(world, false)
      world.zone = leadingTo(open)
      proxy.answer = 'HTTP/1.1 503 Service Unavailable\r\n\r\n'
      assert.equal(await world.fetch(url, dialer), 'upstream_unreachable')
      assert.deepEqual(await world.arrived(), [])
      proxy.answer = undefined
      assert.equal(await world.fetch(url, dialer), 'answered')
    },
  },
]
