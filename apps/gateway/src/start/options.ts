/** `sallyport up`: its flags and what they may be together. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { parseArgs } from 'node:util'
import { SallyportError } from '@sallyport/protocol'
import { dataFolder } from '@sallyport/protocol/node'

export interface UpOptions {
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** `next` is the control port and one. */
  readonly guestPort: number | 'next'
  readonly databaseUrl: string | undefined
  readonly localUpstreams: boolean
  readonly isRestored: boolean
  readonly json: boolean
  /** Both PEM texts, already parsed once. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly publicUrl: string | undefined
  /** A file with the vault key that several workers of one deployment share. */
  readonly vaultKeyFile: string | undefined
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
  --database postgres://…   Postgres instead of the embedded database
  --allow-local-upstreams   allow MCP servers on this machine over plain http
  --restored                the database is a restored backup: every session ends
  --json                    one JSON object per line on stdout

Example: sallyport up --data ./data --port 7400 --allow-local-upstreams
`

const defaultPort = 7400
const loopback = new Set(['127.0.0.1', '::1', 'localhost'])

/** Raised for flags that cannot be: exit code 2. */
export class UsageError extends Error {}

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
  if (flags.database !== undefined && !/^postgres(?:ql)?:\/\//.test(flags.database))
    throw new UsageError('--database takes a postgres:// URL')
  return {
    dataDir: resolve(flags.data ?? dataFolder(env)),
    host,
    port,
    guestPort: flags['guest-port'] === undefined ? 'next' : portOf(flags['guest-port'], 0),
    databaseUrl: flags.database,
    localUpstreams: flags['allow-local-upstreams'] === true,
    isRestored: flags.restored === true,
    json: flags.json === true,
    tls,
    publicUrl: publicUrl?.replace(/\/+$/, ''),
    vaultKeyFile: env['SALLYPORT_VAULT_KEY_FILE'],
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
        database: { type: 'string' },
        'allow-local-upstreams': { type: 'boolean' },
        restored: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : 'unreadable arguments', { cause })
  }
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
