/**
 * Under which names a listener may be asked for. A page whose name was rebound to this machine sends its own name in
 * `Host` and `Origin`; an address in figures cannot be rebound.
 */
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

export interface Listener {
  /** As bound; `0.0.0.0` and `::` are every address of the machine. */
  readonly host: string
  readonly port: number
  readonly publicUrl?: string | undefined
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/** Is this value of the `Host` header one of the listener's? */
export function isAllowedHost(host: string | undefined, listener: Listener): boolean {
  if (host === undefined) return false
  const asked = host.toLowerCase()
  if (listener.publicUrl !== undefined && asked === new URL(listener.publicUrl).host) return true
  const { name, port } = splitHost(asked)
  if ((port ?? listener.port) !== listener.port) return false
  if (port === undefined && listener.port !== 80 && listener.port !== 443) return false
  if (loopbackNames.includes(name) || name === bracketed(listener.host)) return true
  return isEveryAddress(listener.host) && isIP(name.replace(/^\[|\]$/g, '')) !== 0
}

/** No `Origin`, or that of a page this listener itself serves. */
export function isAllowedOrigin(origin: string | undefined, listener: Listener): boolean {
  if (origin === undefined) return true
  if (!URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  return (protocol === 'http:' || protocol === 'https:') && isAllowedHost(host, listener)
}

/** The values of `Host` that are the listener's, in small letters: for who looks them up with every request. */
export function ownHosts({ host, port, publicUrl }: Listener): ReadonlySet<string> {
  const addresses = isEveryAddress(host)
    ? Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? [])
    : [host]
  const names = [...loopbackNames, ...addresses.map(bracketed)]
  const isDefault = port === 80 || port === 443
  return new Set([
    ...names.map((name) => `${name}:${port}`),
    ...(isDefault ? names : []),
    ...(publicUrl === undefined ? [] : [new URL(publicUrl).host]),
  ])
}

function splitHost(host: string): { name: string; port: number | undefined } {
  const found = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(host)
  return { name: found?.[1] ?? '', port: found?.[2] === undefined ? undefined : Number(found[2]) }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host.toLowerCase()}]` : host.toLowerCase()
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
