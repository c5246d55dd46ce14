/** Gateways, workers and an upstream that may be killed, with sessions of every kind a guest may have. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectUpstream, type OpenSession, publishTools } from '../harness/setup-connection.ts'
import type { Sallyport } from '../harness/start-sallyport.ts'
import { GatewayHost, type HostOptions } from './gateway-host.ts'
import { postgresLedger, type ReadLedger, sqliteLedger } from './ledger.ts'
import { Plans } from './plans.ts'
import { UpstreamProcess } from './upstream-process.ts'

export interface CrashWorld {
  readonly hosts: readonly [GatewayHost, ...GatewayHost[]]
  readonly upstream: UpstreamProcess
  /** Of each gateway, in their order: where its guests ask first. */
  readonly sessions: readonly Sessions[]
  readonly readLedger: ReadLedger
  /** That one while it is up, else another that is, if one is. */
  hostFor(at: number): GatewayHost
  /** Ends every process and removes every folder. Throws when one of the processes is still there. */
  remove(): Promise<void>
}

/** A session may wait for eight decisions at once. */
export interface Sessions {
  readonly asking: readonly OpenSession[]
  /** Whose calls are held for a second. */
  readonly brief: readonly OpenSession[]
  readonly unattended: readonly OpenSession[]
}

export interface WorldOptions extends Pick<HostOptions, 'skewMs' | 'workerSkewMs'> {
  /** The embedded database when left out. */
  readonly postgres?: {
    readonly url: string
    readonly gateways: number
    /** How the first gateway reaches it. */
    readonly through?: string
  }
  readonly callMs?: number
  /** Of approvals, at least 10. */
  readonly approvalTtlSeconds?: number
}

export async function startCrashWorld(options: WorldOptions = {}): Promise<CrashWorld> {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-crash-'))
  const upstream = new UpstreamProcess(new Plans(join(root, 'upstream')))
  const hosts: GatewayHost[] = []
  const remove = async (): Promise<void> => {
    for (const host of hosts) await host.remove()
    if (upstream.isAlive) await upstream.kill()
    rmSync(root, { recursive: true, force: true })
    const left = hosts.flatMap(({ sallyport }) => sallyport.processes())
    if (left.length > 0) throw new Error(`still running: ${left.join(', ')}`)
  }
  try {
    await upstream.start()
    for (let at = 0; at < (options.postgres?.gateways ?? 1); at++)
      hosts.push(await GatewayHost.start(hostOptions(root, at, options)))
    const [first] = hosts as [GatewayHost]
    const sessions = await openSessions(first.sallyport, upstream.url, options)
    return {
      hosts: hosts as [GatewayHost],
      upstream,
      sessions,
      readLedger: options.postgres
        ? postgresLedger(options.postgres.url)
        : sqliteLedger(first.sallyport.dataDir),
      hostFor: (at) => {
        const home = hosts[at] ?? first
        return home.isUp ? home : (hosts.find(({ isUp }) => isUp) ?? home)
      },
      remove,
    }
  } catch (thrown) {
    await remove()
    throw thrown
  }
}

function hostOptions(root: string, at: number, options: WorldOptions): HostOptions {
  const { postgres, skewMs = 0, workerSkewMs = 0 } = options
  const folder = join(root, `gateway-${at}`)
  if (!postgres) return { folder, skewMs, workerSkewMs }
  return {
    folder,
    postgres: true,
    args: ['--database', urlOf(postgres, at), '--data-key-file', join(root, 'data.key')],
    env: { SALLYPORT_VAULT_KEY_FILE: join(root, 'vault.key') },
    // The others keep time.
    ...(at === 0 ? { skewMs, workerSkewMs } : {}),
  }
}

const urlOf = ({ url, through }: NonNullable<WorldOptions['postgres']>, at: number): string =>
  at === 0 ? (through ?? url) : url

const connection = 'counted'
const tools = { read: ['look'], write: ['store'] }

async function openSessions(
  sallyport: Sallyport,
  url: string,
  { callMs = 60_000, approvalTtlSeconds = 600, postgres }: WorldOptions,
): Promise<Sessions[]> {
  const { api } = sallyport
  await connectUpstream(sallyport, { name: connection, url, limits: { callMs } })
  await publishTools(sallyport, { name: connection, ...tools })
  await api('setting.set', { name: 'requestsPerMinutePerSession' }, { value: 1_000_000 })
  const session = async (name: string) => await api('session.create', {}, { profile: name })
  const profile = async (name: string, holdSeconds: number, isUnattended: boolean) => {
    const settings = { holdSeconds, approvalTtlSeconds }
    await api('profile.create', {}, { name, settings })
    const mode = isUnattended ? 'write_unattended' : 'write_with_approval'
    await api(
      'profile.grant',
      { name },
      {
        connection,
        tools: 'store',
        mode,
        limits: isUnattended ? { identicalOnly: true } : {},
        confirmUnattended: isUnattended,
      },
    )
  }
  await profile('asking', 300, false)
  await profile('brief', 1, false)
  await profile('unattended', 300, true)
  const homes: Sessions[] = []
  for (let at = 0; at < (postgres?.gateways ?? 1); at++)
    homes.push({
      asking: [await session('asking'), await session('asking')],
      brief: [await session('brief')],
      unattended: [await session('unattended')],
    })
  return homes
}
