/** A whole Sallyport where every address is this machine, and guests that try to get out; tells what each reached. */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { bubblewrap, noSandbox, type RunRequest, type Sandbox } from '@sallyport/launcher'
import { connectUpstream } from '../../harness/setup-connection.ts'
import { run, SandboxWorld } from '../sandbox-world.ts'
import { outcomesIn, type WaysOut, wayOutProgram } from './way-out-guest.ts'

export type Outcomes = Record<string, string>

export interface WaysOutReport {
  /** Before anything is denied. */
  readonly control: Outcomes
  /** Without walls: the ways are real. */
  readonly unwalled: Outcomes
  readonly denied: Outcomes
  /** Of a session in which something was denied while it ran. */
  readonly late: Outcomes
  /** As the session tells it. */
  readonly told: unknown
  readonly lateDenial: { readonly confirmed: number | null; readonly revision: number }
}

/** As the hosts file of this network has them; see the test. */
const names = ['upstream.example', 'auth.example']
const addresses = ['93.184.216.34', '2606:4700:4700::34', '93.184.216.36', '2606:4700:4700::36']
const tunnels = [
  ...names,
  'UPSTREAM.example.',
  'alias.example',
  'alias6.example',
  'free.example',
  ...addresses.map((one) => (one.includes(':') ? `[${one}]` : one)),
  '[2606:4700:4700:0:0:0:0:34]',
  '[::ffff:93.184.216.34]',
  'private.example',
  'loopback.example',
  'metadata.example',
  'both.example',
  '127.0.0.1',
  '0x5db8d822',
  'elsewhere.test',
].map((host) => `${host}:443`)
/** Exactly, and by every wildcard and network that could name them. */
const allowed = [
  ...names,
  '*.example',
  'loopback.example',
  ...addresses,
  '93.184.216.0/24',
  '2606:4700::/32',
  '127.0.0.1',
]

// Keeps what it is given until the other side ends it.
const server = createServer((socket) => socket.on('error', () => undefined)).listen(443, '::')
await once(server, 'listening')
const nameServers = (['udp4', 'udp6'] as const).map((type) => {
  const socket = createSocket({ type, ipv6Only: type === 'udp6' })
  socket.on('message', (_, { port, address }) => socket.send('answer', port, address))
  return socket.bind(53)
})
await Promise.all(nameServers.map((one) => once(one, 'listening')))
const abstractName = `ways-out-${process.pid}`
const abstract = createServer((socket) => socket.end()).listen(`\0${abstractName}`)
await once(abstract, 'listening')

const world = await SandboxWorld.start()

async function request(sandbox: Sandbox, more: Partial<WaysOut> = {}): Promise<RunRequest> {
  const isWalled = sandbox.isolation !== 'none'
  const datagramPath = 'host.sock'
  const ways = { hosts: [...names, ...addresses], tunnels, abstractName, datagramPath, ...more }
  const node = isWalled ? '/opt/sallyport/node' : process.execPath
  const asked = await world.request(sandbox, [node, '-e', wayOutProgram(ways)])
  await bindDatagram(join(asked.workspace, datagramPath))
  return isWalled ? { ...asked, reach: { hosts: allowed } } : asked
}

const children: ReturnType<typeof spawn>[] = []
/** Node has no datagram sockets of this family. */
async function bindDatagram(path: string): Promise<void> {
  const script = `use Socket; $| = 1; socket(my $s, AF_UNIX, SOCK_DGRAM, 0); bind($s, sockaddr_un($ARGV[0]));
    print "ready"; sleep 600`
  const child = spawn('perl', ['-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await once(child.stdout as NodeJS.EventEmitter, 'data')
}

const outcomes = async (sandbox: Sandbox): Promise<Outcomes> =>
  outcomesIn((await run(await request(sandbox))).output)

const unwalled = await outcomes(noSandbox())
const control = await outcomes(bubblewrap())
// A draft, never asked: what it names is denied from now on all the same.
await connectUpstream(world.sallyport, { name: 'upstream', url: 'https://upstream.example/mcp' })
await world.sallyport.api('denySet.edit', {}, { add: ['auth.example'], remove: [] })
const denied = await outcomes(bubblewrap())

const kept = 'late.example:443'
const asked = await request(bubblewrap(), { hosts: [], tunnels: [], kept })
const { output, end } = await run(asked, (event) => {
  if (event.kind !== 'released') return
  event.guest.stdout?.on('data', (data) => {
    if (!String(data).includes('"kept"')) return
    void connectUpstream(world.sallyport, { name: 'late', url: 'https://late.example/mcp' })
  })
})
const { denySet, sandbox } = await world.session(end.session)
const { confirmed = null, revision = 0 } = denySet ?? {}
const late = outcomesIn(output)

for (const child of children) child.kill()
await world.end()
const report: WaysOutReport = {
  control,
  unwalled,
  denied,
  late,
  told: sandbox?.reach ?? null,
  lateDenial: { confirmed, revision },
}
process.stdout.write(JSON.stringify(report))
process.exit(0)
