/** A whole Sallyport in the isolated network: what the operator says to "up" is what the worker keeps to. */
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DnsAnswer,
  type Kind,
  ScriptedNameServer,
} from '../../../apps/worker/src/testing/scripted-name-server.ts'
import { ScriptedProxy } from '../../../apps/worker/src/testing/scripted-proxy.ts'
import { serverCertificate } from '../../../apps/worker/src/testing/server-certificate.ts'
import { connectUpstream } from '../../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../../harness/start-sallyport.ts'
import { startUpstream } from '../../upstreams/scripted-upstream.ts'
import type { UpReport } from '../up-report.ts'

const addresses: Readonly<Record<string, string>> = {
  'mcp.dev': '93.184.215.14',
  'mcp.corp': '10.1.2.3',
  'other.corp': '10.1.2.4',
}
const answer = (name: string, kind: Kind): DnsAnswer => {
  const value = addresses[name]
  if (value === undefined) return { code: 3 }
  return { records: kind === 'A' ? [{ type: kind, value }] : [] }
}

const certificate = serverCertificate('DNS:mcp.dev,DNS:mcp.corp,DNS:other.corp')
const authorities = join(process.env['FOLDER'] ?? tmpdir(), 'upstream-ca.pem')
writeFileSync(authorities, certificate.cert)
const names = await ScriptedNameServer.start(answer, 53)
const upstream = await startUpstream({ tls: certificate, host: '::', port: 443 })
const proxy = await ScriptedProxy.start(443)

/** The code of a discovery of each, or `found`. */
async function discover({ api }: Sallyport): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const name of ['dev', 'corp', 'other']) {
    const came = await api('catalog.discover', { name }).then(
      () => 'found',
      (refusal: { code?: string }) => String(refusal.code ?? refusal),
    )
    found[name] = came
  }
  return found
}

const sallyport = await startSallyport({ localUpstreams: false })
const report: Partial<Record<keyof UpReport, unknown>> = {}
try {
  await connectUpstream(sallyport, { name: 'dev', url: 'https://mcp.dev/mcp' })
  const { id } = await connectUpstream(sallyport, { name: 'corp', url: 'https://mcp.corp/mcp' })
  await connectUpstream(sallyport, { name: 'other', url: 'https://other.corp/mcp' })
  report.bare = await discover(sallyport)

  const under = async (...args: string[]) => {
    await sallyport.restart({ args })
    return await discover(sallyport)
  }
  const allowed = ['--upstream-ca', authorities, '--allow-private', `${id}=10.1.0.0/16`]
  report.allowed = await under(...allowed)
  report.denied = await under(
    ...allowed,
    '--deny-host',
    '*.dev',
    '--deny-host',
    'mcp.dev',
    '--deny-host',
    '10.1.2.0/24',
  )
  report.listed = await under(...allowed, '--allow-host', 'mcp.corp')
  report.proxied = await under(...allowed, '--egress-proxy', `http://127.0.0.1:${proxy.port}`)
  report.asked = [...new Set(proxy.asked)]
  const worker = sallyport.workerPid()
  report.environment = readFileSync(`/proc/${worker}/environ`, 'utf8')
  report.command = readFileSync(`/proc/${worker}/cmdline`, 'utf8').split('\0')
  report.misunderstood = await sallyport
    .restart({ args: ['--allow-private', `${id}=8.8.8.0/24`] })
    .then(
      () => 'started',
      (failure: Error) => failure.message,
    )
} finally {
  await sallyport.remove()
  await proxy.stop()
  await upstream.close()
  await names.stop()
}
process.stdout.write(JSON.stringify(report))
