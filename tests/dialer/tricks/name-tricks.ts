/** Tricks with names: what an evil name server, or an evil owner of a name, can say. */
import assert from 'node:assert/strict'
import { EgressPolicy } from '../../../apps/worker/src/dialer/egress-policy.ts'
import type {
  DnsAnswer,
  Kind,
  Zone,
} from '../../../apps/worker/src/testing/scripted-name-server.ts'
import { type NamesWorld, open, type Trick } from '../inside/names-world.ts'

const own = 'con_0123456789abcdefghjkmnpqrs'
const other = 'con_0123456789abcdefghjkmnpqrt'
const blocked = 'upstream_blocked_address'
const url = 'https://mcp.dev/'

const records = (kind: Kind, ...values: string[]): DnsAnswer => ({
  records: values
    .filter((value) => value.includes(':') === (kind === 'AAAA'))
    .map((value) => ({ type: kind, value })),
})
/** The same addresses for every name. */
const all =
  (...values: string[]): Zone =>
  (_name, kind) =>
    records(kind, ...values)

/** The trick is refused, nobody arrives anywhere, and the control comes through. */
async function refused(
  world: NamesWorld,
  zone: Zone,
  control: Zone,
  code = blocked,
): Promise<void> {
  world.zone = zone
  assert.equal(await world.fetch(url), code)
  assert.deepEqual(await world.arrived(), [])
  world.zone = control
  assert.equal(await world.fetch(url), 'answered')
  assert.deepEqual(await world.arrived(), [open])
}

const leads = (what: string, ...values: string[]): Trick => ({
  what,
  play: (world) => refused(world, all(...values), all(open)),
})

const says = (what: string, answer: DnsAnswer): Trick => ({
  what,
  play: (world) => refused(world, () => answer, all(open), 'upstream_dns'),
})

export const nameTricks: readonly Trick[] = [
  {
    what: 'a name that is public when it is judged and private when it is dialled',
    play: async (world) => {
      const rebinding: Zone = (_name, kind, times) => records(kind, times === 0 ? open : '10.0.0.1')
      world.zone = rebinding
      assert.equal(await world.fetch(url), 'answered')
      assert.deepEqual(await world.arrived(), [open])
      assert.deepEqual([...world.asked].sort(), ['mcp.dev A', 'mcp.dev AAAA'])
      assert.equal(await world.fetch(url), blocked)
      assert.deepEqual(await world.arrived(), [])
      // Whoever looks first and connects then is taken in.
      world.zone = (_name, kind, times) => records(kind, times < 3 ? open : '10.0.0.1')
      assert.equal(await world.lookThenConnect('mcp.dev'), '10.0.0.1')
    },
  },
  {
    what: 'a name that changes with every question, asked fifty times at once and one after the other',
    play: async (world) => {
      world.zone = (_name, kind, times) => records(kind, times % 2 === 0 ? open : '169.254.169.254')
      const dialer = world.dialer()
      const ends = await Promise.all(Array.from({ length: 25 }, () => world.fetch(url, dialer)))
      for (let n = 0; n < 25; n++) ends.push(await world.fetch(url, dialer))
      assert.deepEqual([...new Set(ends)].sort(), ['answered', blocked])
      assert.deepEqual([...new Set(await world.arrived())], [open])
    },
  },
  leads('a private address beside a public one', open, '10.0.0.1'),
  leads('a private address before a public one', '192.168.0.1', open),
  leads('a private IPv6 address beside a public IPv4 address', open, 'fd00::1'),
  leads('this machine beside a public address', open, '127.0.0.1'),
  leads('the metadata service beside a public address', open, '169.254.169.254'),
  leads('an address of the carrier’s network', '100.64.0.1'),
  leads('the address zero, which Linux takes for this machine', '0.0.0.0'),
  leads('the IPv6 address zero', '::'),
  leads('a mapped address', '::ffff:10.0.0.1'),
  leads('a mapped public address', '::ffff:93.184.215.14'),
  leads('an address for a translator (NAT64)', '64:ff9b::a00:1'),
  leads('an address for a translator of local use', '64:ff9b:1::a00:1'),
  leads('an address of 6to4', '2002:a00:1::1'),
  leads('an address of Teredo', '2001:0:5db8:d70e:8000:63bf:f5ff:fffe'),
  leads('an address of ISATAP', '2606:4700::5efe:a00:1'),
  leads('an address of multicast', '224.0.0.251'),
  leads(
    'a private address behind thirty public ones',
    ...Array.from({ length: 30 }, (_, index) => `93.184.215.${index + 100}`),
    '10.0.0.1',
  ),
  {
    what: 'an alias of a private name',
    play: (world) =>
      refused(
        world,
        (_name, kind) => ({
          records: [
            { type: 'CNAME', value: 'hidden.corp' },
            ...(kind === 'A' ? [{ name: 'hidden.corp', type: kind, value: '10.0.0.1' }] : []),
          ],
        }),
        (_name, kind) => ({
          records: [
            { type: 'CNAME', value: 'hidden.corp' },
            ...(kind === 'A' ? [{ name: 'hidden.corp', type: kind, value: open }] : []),
          ],
        }),
      ),
  },
  {
    what: 'a chain of aliases that ends at the metadata service',
    play: (world) => {
      const chain =
        (end: string): Zone =>
        (_name, kind) => ({
          records: [
            { type: 'CNAME', value: 'a1.dev' },
            ...Array.from({ length: 8 }, (_, n) => ({
              name: `a${n + 1}.dev`,
              type: 'CNAME' as const,
              value: `a${n + 2}.dev`,
            })),
            ...(kind === 'A' ? [{ name: 'a9.dev', type: kind, value: end }] : []),
          ],
        })
      return refused(world, chain('169.254.169.254'), chain(open))
    },
  },
  {
    what: 'an alias of localhost, answered with its address',
    play: (world) =>
      refused(
        world,
        (_name, kind) => ({
          records: [
            { type: 'CNAME', value: 'localhost' },
            { name: 'localhost', type: kind, value: kind === 'A' ? '127.0.0.1' : '::1' },
          ],
        }),
        all(open),
      ),
  },
  says('an alias that leads in a circle', {
    records: [
      { type: 'CNAME', value: 'b.dev' },
      { name: 'b.dev', type: 'CNAME', value: 'mcp.dev' },
    ],
  }),
  {
    what: 'the address of another name beside the answer',
    play: (world) =>
      refused(
        world,
        (_name, kind) => ({
          records: [
            ...(records(kind, open).records ?? []),
            { name: 'stray.dev', type: 'A', value: '10.0.0.1' },
          ],
        }),
        all(open),
      ),
  },
  says('a name that does not exist', { code: 3 }),
  says('a name server that fails', { code: 2 }),
  says('a name server that refuses', { code: 5 }),
  says('a name without addresses', {}),
  {
    what: 'a name server that never answers',
    play: async (world) => {
      world.zone = () => undefined
      assert.equal(await world.fetch(url, world.dialer({}, true)), 'upstream_dns')
      world.zone = all(open)
      assert.equal(await world.fetch(url), 'answered')
    },
  },
  {
    what: 'sixty-four names that are never answered do not hold up another',
    play: async (world) => {
      world.zone = (name, kind) => (name === 'mcp.dev' ? records(kind, open) : undefined)
      const dialer = world.dialer()
      const silent = world.dialer({}, true)
      const ends = Array.from({ length: 64 }, (_, n) => world.fetch(`https://s${n}.dev/`, silent))
      const begun = performance.now()
      assert.equal(await world.fetch(url, dialer), 'answered')
      assert.ok(performance.now() - begun < 1_000)
      assert.deepEqual([...new Set(await Promise.all(ends))], ['upstream_dns'])
    },
  },
  {
    what: 'an answer to another question',
    play: async (world) => {
      world.zone = (_name, kind) => ({ ...records(kind, open), strayed: true })
      assert.equal(await world.fetch(url, world.dialer({}, true)), 'upstream_dns')
      assert.deepEqual(await world.arrived(), [])
      world.zone = all(open)
      assert.equal(await world.fetch(url), 'answered')
    },
  },
  {
    what: 'a private address in an answer that comes over a connection because it is long',
    play: (world) => {
      const long =
        (end: string): Zone =>
        (_name, kind) => ({
          ...records(kind, ...Array.from({ length: 200 }, () => open), end),
          truncated: true,
        })
      return refused(world, long('10.0.0.1'), long(open))
    },
  },
  {
    what: 'a family that is never answered beside a private address',
    play: async (world) => {
      const half =
        (address: string): Zone =>
        (_name, kind) =>
          kind === 'A' ? records(kind, address) : undefined
      world.zone = half('10.0.0.1')
      assert.equal(await world.fetch(url), blocked)
      assert.deepEqual(await world.arrived(), [])
      world.zone = half(open)
      assert.equal(await world.fetch(url), 'answered')
    },
  },
  {
    what: 'a name of the hosts file, whatever the name server says',
    play: async (world) => {
      world.zone = all(open)
      assert.equal(await world.fetch('https://written-private.dev/'), blocked)
      assert.deepEqual(await world.arrived(), [])
      assert.equal(await world.fetch('https://written-open.dev/'), 'upstream_tls')
      assert.deepEqual(await world.arrived(), ['93.184.215.15'])
      assert.deepEqual(world.asked, [])
    },
  },
  {
    what: 'a name that leads to a listener of ours on a public address',
    play: async (world) => {
      world.zone = all(open)
      const ownListeners = new Map([['ins_1', [{ host: open, port: 8443 }]]])
      const dialer = world.dialer({ ownListeners })
      assert.equal(await world.fetch('https://mcp.dev:8443/', dialer), blocked)
      assert.deepEqual(await world.arrived(), [])
      assert.equal(await world.fetch('https://mcp.dev:8443/'), 'answered')
    },
  },
  {
    what: 'a private network that is open to another connection',
    play: async (world) => {
      world.zone = all('10.1.2.3')
      const policy = new EgressPolicy({ allowPrivate: [`${own}=10.1.0.0/16`] })
      const dialer = world.dialer({ policy })
      for (const subject of [other, undefined])
        assert.equal(await world.fetch('https://mcp.corp/', dialer, subject), blocked)
      assert.deepEqual(await world.arrived(), [])
      assert.equal(await world.fetch('https://mcp.corp/', dialer, own), 'answered')
      assert.deepEqual(await world.arrived(), ['10.1.2.3'])
    },
  },
  {
    what: 'a private network that is open, and an address beside it, in it in another form, or of metadata in it',
    play: async (world) => {
      const open6 = `${own}=fc00::/7`
      const policy = new EgressPolicy({ allowPrivate: [`${own}=10.1.0.0/16`, open6] })
      const dialer = world.dialer({ policy })
      for (const address of ['10.2.0.1', '::ffff:10.1.2.3', '64:ff9b::a01:203', 'fd00:ec2::254']) {
        world.zone = all(address)
        assert.equal(await world.fetch('https://mcp.corp/', dialer, own), blocked, address)
      }
      assert.deepEqual(await world.arrived(), [])
      world.zone = all('fd00::7')
      assert.equal(await world.fetch('https://mcp.corp/', dialer, own), 'answered')
    },
  },
  {
    what: 'a name that leads to a network the operator denied',
    play: async (world) => {
      const policy = new EgressPolicy({ deny: ['93.184.215.0/24'] })
      world.zone = all(open)
      assert.equal(await world.fetch(url, world.dialer({ policy })), blocked)
      assert.deepEqual(await world.arrived(), [])
      assert.equal(await world.fetch(url), 'answered')
    },
  },
  {
    what: 'a name that is not on the list of what is allowed, at an address of one that is',
    play: async (world) => {
      const policy = new EgressPolicy({ allow: ['mcp.dev'] })
      world.zone = all(open)
      assert.equal(await world.fetch('https://other.dev/', world.dialer({ policy })), blocked)
      assert.deepEqual(await world.arrived(), [])
      assert.equal(await world.fetch(url, world.dialer({ policy })), 'answered')
    },
  },
]
