/** Tries every destination of the corpus against a server that is at every address, and tells what came of it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { systemClock } from '../../../apps/worker/src/clock.ts'
import { Dialer } from '../../../apps/worker/src/dialer/dialer.ts'
import { requestDocument } from '../../../apps/worker/src/dialer/document.ts'
import { EgressPolicy } from '../../../apps/worker/src/dialer/egress-policy.ts'
import {
  type DnsAnswer,
  type Kind,
  ScriptedNameServer,
} from '../../../apps/worker/src/testing/scripted-name-server.ts'
import { serverCertificate } from '../../../apps/worker/src/testing/server-certificate.ts'
import { corpus } from '../corpus/corpus.ts'
import type { Group } from '../corpus/group.ts'
import type { CorpusReport } from '../corpus/report.ts'
import { addressesOf, aliases } from '../corpus/zone.ts'
import { Trap } from './trap.ts'

const trap = new Trap()
const hostsOfControls = corpus
  .flatMap(({ passes }) => passes.map(([url]) => new URL(url).hostname.replace(/\.$/, '')))
  .map((host) => (/^[\d.]+$|^\[/.test(host) ? `IP:${host.replace(/[[\]]/g, '')}` : `DNS:${host}`))
const certificate = serverCertificate([...new Set(hostsOfControls)].join(','))
const ports = [...new Set([443, ...corpus.flatMap(({ refused }) => refused.map(portOf))])].filter(
  (port) => port !== 0 && port !== 53,
)

const dialer = new Dialer({
  localAllowed: false,
  authorities: [certificate.cert],
  clock: systemClock,
  policy: new EgressPolicy({
    deny: ['denied.dev', '*.denied-below.dev', '93.184.216.0/24', '2606:4700:dead::/48'],
  }),
  ownListeners: new Map([
    [
      'ins_gateway',
      [
        { host: '93.184.215.20', port: 8443 },
        { host: '2606:4700:4700::20', port: 8443 },
      ],
    ],
  ]),
})

function answer(name: string, kind: Kind): DnsAnswer {
  const target = aliases[name] ?? name
  const alias = aliases[name] ? [{ type: 'CNAME', value: target } as const] : []
  const addresses = (addressesOf[target] ?? []).filter(
    (one) => one.includes(':') === (kind === 'AAAA'),
  )
  const records = addresses.map((value) => ({ name: target, type: kind, value }))
  return addressesOf[target] ? { records: [...alias, ...records] } : { code: 3 }
}

function portOf(url: string): number {
  return URL.canParse(url) ? Number(new URL(url).port || 443) : 443
}

async function attempt(url: string): Promise<string> {
  try {
    const get = { method: 'GET', url, headers: {} } as const
    const { status } = await requestDocument(dialer, get, { maxBytes: 100, totalMs: 5_000 })
    return `answered ${status}`
  } catch (thrown) {
    return String((thrown as { code?: string }).code ?? thrown)
  }
}

/** One that asks the system for the name and believes it. */
async function naive(url: string): Promise<void> {
  if (!URL.canParse(url)) return
  const host = new URL(url).hostname.replace(/[[\]]/g, '')
  const socket = connect({ host, port: portOf(url) })
  await once(socket, 'connect').catch(() => {})
  socket.destroy()
}

const marker = '93.184.215.99'

/** What was dialled before this has arrived after it. Resolves with where somebody came to since the last time. */
async function settled(): Promise<Trap['hits']> {
  await Promise.all(ports.map((port) => naive(`https://${marker}:${port}/`)))
  const marks = () => trap.hits.filter(({ address }) => address === marker).length
  while (marks() < ports.length) await new Promise((resolve) => setImmediate(resolve))
  return trap.hits.splice(0).filter(({ address }) => address !== marker)
}

async function tryGroup({ what, refused, passes }: Group): Promise<CorpusReport> {
  const codes: string[] = []
  for (const url of refused) codes.push(await attempt(url))
  const hits = await settled()
  const arrived: string[] = []
  for (const [url] of passes) {
    const came = await attempt(url)
    const at = [...new Set((await settled()).map(({ address }) => address))]
    arrived.push(came === 'answered 200' ? at.join(' ') : came)
  }
  await Promise.all(refused.map(naive))
  return { what, codes, hits, arrived, naive: (await settled()).length }
}

for (const port of ports)
  await trap.listen(port, [443, 8443].includes(port) ? certificate : undefined)
const names = await ScriptedNameServer.start(answer, 53)
const reports: CorpusReport[] = []
for (const group of corpus) reports.push(await tryGroup(group))
await names.stop()
trap.close()
process.stdout.write(JSON.stringify(reports))
