import { parseArgs } from 'node:util'

export type Place = { readonly path: string } | { readonly host: string; readonly port: number }

/** None of it is secret: arguments can be read by every process of the machine. */
export interface WorkerOptions {
  readonly place: Place
  readonly cert: string
  readonly key: string
  readonly ca: string
  readonly allowLocalUpstreams: boolean
  /** Further authorities that upstreams may be certified by; PEM. */
  readonly upstreamCa: string | undefined
  readonly vaultFd: number
  readonly reconnectWindowMs: number
  readonly build: string
}

/** `--socket` is a path, or `host:port`. Throws TypeError for what cannot be understood. */
export function parseOptions(args: readonly string[]): WorkerOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      socket: { type: 'string' },
      cert: { type: 'string' },
      key: { type: 'string' },
      ca: { type: 'string' },
      'allow-local-upstreams': { type: 'boolean', default: false },
      'upstream-ca': { type: 'string' },
      'vault-fd': { type: 'string', default: '3' },
      'reconnect-window-ms': { type: 'string', default: '600000' },
      build: { type: 'string', default: 'source' },
    },
  })
  const { socket, cert, key, ca } = values
  if (!socket || !cert || !key || !ca)
    throw new TypeError('--socket, --cert, --key, --ca are needed')
  return {
    place: placeOf(socket),
    cert,
    key,
    ca,
    allowLocalUpstreams: values['allow-local-upstreams'],
    upstreamCa: values['upstream-ca'],
    vaultFd: wholeNumber('--vault-fd', values['vault-fd']),
    reconnectWindowMs: wholeNumber('--reconnect-window-ms', values['reconnect-window-ms']),
    build: values.build,
  }
}

function placeOf(socket: string): Place {
  const [, host, port] = /^([^/\\]+):(\d{1,5})$/.exec(socket) ?? []
  return host === undefined ? { path: socket } : { host, port: Number(port) }
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new TypeError(`${name} takes a whole number`)
  return Number(text)
}
