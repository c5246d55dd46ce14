/** From inside a running sandbox nobody is reached who is denied, whatever is allowed; each denial has its control. */
import { join } from 'node:path'
import { bubblewrap } from '@sallyport/launcher'
import { beforeAll, describe, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { isolationProblem, isolationTitle, runIsolated } from '../dialer/isolated-network.ts'
import type { WaysOutReport } from './inside/ways-out-main.ts'

const hosts = `
93.184.216.34 upstream.example alias.example both.example
2606:4700:4700::34 upstream.example alias6.example
93.184.216.36 auth.example
2606:4700:4700::36 auth.example
93.184.216.40 free.example late.example elsewhere.test
10.1.2.3 private.example
127.0.0.1 loopback.example
169.254.169.254 metadata.example
10.1.2.4 both.example
`
const upstreams = [
  'upstream.example',
  'auth.example',
  'UPSTREAM.example.',
  'alias.example',
  'alias6.example',
  '93.184.216.34',
  '[2606:4700:4700::34]',
  '93.184.216.36',
  '[2606:4700:4700::36]',
  '[2606:4700:4700:0:0:0:0:34]',
].map((host) => `tunnel ${host}:443`)
const never = [
  'private.example',
  'loopback.example',
  'metadata.example',
  'both.example',
  '[::ffff:93.184.216.34]',
  '127.0.0.1',
  '0x5db8d822',
  'elsewhere.test',
].map((host) => `tunnel ${host}:443`)

await sandboxSuite(bubblewrap(), () => {
  describe.skipIf(isolationProblem !== undefined)(isolationTitle, () => {
    let report: WaysOutReport
    beforeAll(async () => {
      const program = join(import.meta.dirname, 'inside/ways-out-main.ts')
      report = await runIsolated<WaysOutReport>({ program, hosts })
    })

    const others = ({ unwalled }: WaysOutReport) =>
      Object.keys(unwalled).filter((way) => !way.startsWith('tunnel'))

    test('without walls every way leads to somebody: the control', () => {
      const ways = others(report)
      expect(ways).toHaveLength(14)
      const reached = ways.filter((way) => report.unwalled[way] === 'reached')
      expect(ways.filter((way) => !reached.includes(way))).toEqual([])
    })

    test('within walls none of them does, and no name is answered', () => {
      for (const way of others(report)) {
        expect(report.control[way], way).not.toBe('reached')
        expect(report.denied[way], way).not.toBe('reached')
      }
    })

    test('what is allowed and not denied is reached through the proxy', () => {
      for (const way of upstreams) expect(report.control[way], way).toBe('reached')
      expect(report.denied['tunnel free.example:443']).toBe('reached')
    })

    test('what is denied is not, by name, address or another name, however it is allowed', () => {
      for (const way of upstreams) expect(report.denied[way], way).toBe('host_denied')
    })

    test('what is no public address, or was not named, is never reached', () => {
      for (const way of never) expect(report.control[way], way).toBe('host_denied')
    })

    test('the session tells what it may reach', () => {
      const hosts = expect.arrayContaining(['*.example', '93.184.216.0/24'])
      expect(report.told).toEqual({ model: null, modelKey: null, hosts })
    })

    test('what is denied while a session runs is cut off, and confirmed only then', () => {
      expect(report.late).toEqual({
        'abstract socket': 'ECONNREFUSED',
        'datagram by a socket pair': 'failed at 3',
        kept: 'reached',
        'kept and cut': 'host_denied',
      })
      const { confirmed, revision } = report.lateDenial
      expect(confirmed).toBe(revision)
    })
  })
})
