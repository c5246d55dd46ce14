/** `sallyport up`: its flags and what they may be together. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { parseArgs } from 'node:util'
import { SallyportError } from '@sallyport/protocol'
import { dataFolder } from '@sallyport/protocol/node'
import type { WorkerAddress } from '../worker/dial.ts'
import { type IsolationMode, isolationModes } from '../worker/isolation/isolation-mode.ts'
import type { VaultKeyPlace } from '../worker/vault-key-place.ts'
import {
  databaseFlags,
  databaseUrl,
  databaseUsage,
  showsPassword,
  withoutPasswords,
} from './database-url.ts'
import { egressArguments, egressFlagNames, egressFlags, egressUsage } from './egress-flags.ts'
import { UsageError } from './usage-error.ts'

export { UsageError }

export interface UpOptions {
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** `next` is the control port and one. */
  readonly guestPort: number | 'next'
  readonly databaseUrl: string | undefined
  /** To every user of this machine: it came as an argument. */
  readonly isPasswordShown: boolean
  readonly localUpstreams: boolean
  /** Flags for the worker, as it takes them: where it may go. */
  readonly egress: readonly string[]
  readonly isRestored: boolean
  readonly json: boolean
  /** Both PEM texts, already parsed once. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly publicUrl: string | undefined
  /** Undefined: a file in the data folder. All workers of a deployment share one. */
  readonly vaultKey: VaultKeyPlace | undefined
  /** One that somebody else starts; undefined: this gateway starts its own. */
  readonly worker: WorkerAddress | undefined
  /** How much stands around the worker. */
  readonly workerIsolation: IsolationMode
  /** A file with the data key that several gateways of one database share. */
  readonly dataKeyFile: string | undefined
}

export const usage = `Usage: sallyport up [options]

Starts Sallyport: gateway, worker and database, and serves until SIGTERM or SIGINT.

  --data DIR                data folder (default: SALLYPORT_DATA, else the user's data folder)
  --port N                  control API (default 7400; 0 = any free)
  --guest-port N            guest endpoint (default: control port + 1; 0 = any free)
  --host H                  address to listen on (default 127.0.0.1; another one needs TLS)
  --tls-cert F, --tls-key F certificate and key, PEM
  --behind-tls              TLS ends in front of Sallyport (with --public-url)
  --public-url U            the address people and agents use
${databaseUsage}  --vault-key-file F        key that opens secrets (gateways of one Postgres share it)
  --vault-key-fd N          … from a descriptor that was handed over
  --vault-key-command C     … from what a program prints: its whole path and its arguments
  --worker A                a worker that runs already, at a socket or host:port (deploy/)
  --worker-isolation M      require, auto (default: what this machine has) or none
  --data-key-file F         key of kept arguments and results (gateways of one Postgres share it)
  --allow-local-upstreams   allow MCP servers on this machine over plain http
${egressUsage}  --restored                the database is a restored backup: sessions and approvals end
  --json                    one JSON object per line on stdout

Example: sallyport up --data ./data --port 7400 --allow-local-upstreams
`

const defaultPort = 7400
const loopback = new Set(['127.0.0.1', '::1', 'localhost'])

/** Undefined when help was asked for. Throws UsageError, or SallyportError `tls_required`, `bad_certificate`. */
export function parseUpOptions(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): UpOptions | undefined {
  const flags = readFlags(args)
  if (flags.help) return undefined
  const port = portOf(flags.port, defaultPort)
  const host = flags.host ?? '127.0.0.1'
  const tls = readTls(flags['tls-cert'], flags['tls-key'])
  const publicUrl = flags['public-url']
  if (flags['behind-tls'] && !publicUrl) throw new UsageError('--behind-tls needs --public-url')
  if (publicUrl !== undefined && !URL.canParse(publicUrl))
    throw new UsageError('--public-url is no URL')
  if (!loopback.has(host) && !tls && !flags['behind-tls']) throw new SallyportError('tls_required')
  return {
    dataDir: resolve(flags.data ?? dataFolder(env)),
    host,
    port,
    guestPort: flags['guest-port'] === undefined ? 'next' : portOf(flags['guest-port'], 0),
    databaseUrl: databaseUrl(flags, env),
    isPasswordShown: showsPassword(flags),
    localUpstreams: flags['allow-local-upstreams'] === true,
    egress: egressArguments(flags),
    isRestored: flags.restored === true,
    json: flags.json === true,
    tls,
    publicUrl: publicUrl?.replace(/\/+$/, ''),
    worker: standingWorker(flags),
    workerIsolation: isolationMode(flags['worker-isolation']),
    vaultKey: vaultKeyPlace(flags, env['SALLYPORT_VAULT_KEY_FILE']),
    dataKeyFile: flags['data-key-file'] === undefined ? undefined : resolve(flags['data-key-file']),
  }
}

function readFlags(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        data: { type: 'string' },
        port: { type: 'string' },
        'guest-port': { type: 'string' },
        host: { type: 'string' },
        'tls-cert': { type: 'string' },
        'tls-key': { type: 'string' },
        'behind-tls': { type: 'boolean' },
        'public-url': { type: 'string' },
        ...databaseFlags,
        'data-key-file': { type: 'string' },
        'vault-key-file': { type: 'string' },
        'vault-key-fd': { type: 'string' },
        'vault-key-command': { type: 'string' },
        worker: { type: 'string' },
        'worker-isolation': { type: 'string' },
        'allow-local-upstreams': { type: 'boolean' },
        ...egressFlags,
        restored: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'unreadable arguments'
    throw new UsageError(withoutPasswords(message), { cause })
  }
}

function vaultKeyPlace(
  flags: ReturnType<typeof readFlags>,
  fromEnvironment: string | undefined,
): VaultKeyPlace | undefined {
  const { 'vault-key-fd': fd, 'vault-key-command': command } = flags
  const file = flags['vault-key-file']
  if ([file, fd, command].filter((one) => one !== undefined).length > 1)
    throw new UsageError('only one of --vault-key-file, --vault-key-fd, --vault-key-command')
  if (fd !== undefined) {
    if (!/^\d{1,4}$/.test(fd) || Number(fd) < 3) throw new UsageError(`not a descriptor: ${fd}`)
    return { descriptor: Number(fd) }
  }
  if (command !== undefined) {
    if (!/^(?:\/|\[\s*"\/)/.test(command))
      throw new UsageError('--vault-key-command begins with the whole path of a program')
    return { command }
  }
  const path = file ?? fromEnvironment
  return path === undefined ? undefined : { file: resolve(path) }
}

/** Flags that say what the worker is to do are for whoever starts it. */
function standingWorker(flags: ReturnType<typeof readFlags>): WorkerAddress | undefined {
  const { worker } = flags
  if (worker === undefined) return undefined
  const keys = ['vault-key-file', 'vault-key-fd', 'vault-key-command'] as const
  const given = [...keys, ...egressFlagNames].find((name) => flags[name] !== undefined)
  if (given !== undefined)
    throw new UsageError(`--${given} is for the worker: start that with it, not with --worker`)
  if (worker.startsWith('/')) return { path: worker }
  const [, host, port] = /^\[?([^/\\\]]+)\]?:(\d{1,5})$/.exec(worker) ?? []
  if (host === undefined)
    throw new UsageError('--worker takes the whole path of a socket, or host:port')
  return { host, port: portOf(port, 0) }
}

function isolationMode(text = 'auto'): IsolationMode {
  const mode = isolationModes.find((one) => one === text)
  if (mode === undefined)
    throw new UsageError(`--worker-isolation takes ${isolationModes.join(', ')}`)
  return mode
}

function portOf(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new UsageError(`not a port: ${text}`)
  return port
}

function readTls(certFile: string | undefined, keyFile: string | undefined): UpOptions['tls'] {
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined)
    throw new UsageError('--tls-cert and --tls-key go together')
  try {
    const tls = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
    createSecureContext(tls)
    return tls
  } catch (cause) {
    throw new SallyportError('bad_certificate', { cause })
  }
}
