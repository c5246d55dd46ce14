/**
 * Flags that say where the worker may go. They are for the worker, which judges by them and checks them again; here they
 * are looked at only so that a mistake is told as one.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isId, SallyportError } from '@sallyport/protocol'
import { UsageError } from './usage-error.ts'

export const egressFlags = {
  'upstream-ca': { type: 'string' },
  'deny-host': { type: 'string', multiple: true },
  'allow-host': { type: 'string', multiple: true },
  'allow-private': { type: 'string', multiple: true },
  'egress-proxy': { type: 'string' },
  'egress-proxy-resolves': { type: 'boolean' },
} as const

export const egressFlagNames = Object.keys(egressFlags) as (keyof typeof egressFlags)[]

export const egressUsage = `  --upstream-ca F           authorities of your MCP servers, PEM, beside the usual ones
  --deny-host P             never reach P: name, *.name, address or network (repeatable)
  --allow-host P            reach nothing but P, of the same forms (repeatable)
  --allow-private ID=NET    let the connection or webhook ID reach a private network (repeatable)
  --egress-proxy U          the way out is this proxy, http://host:port
  --egress-proxy-resolves   the proxy resolves names; they need not be known here
`

type Values = {
  readonly [Flag in keyof typeof egressFlags]?: string | boolean | string[] | undefined
}

/** As the worker takes them. Throws UsageError, or SallyportError `bad_certificate`. */
export function egressArguments(values: Values): readonly string[] {
  const all = (flag: keyof Values) => [values[flag] ?? []].flat().map(String)
  const [authorities] = all('upstream-ca').map((path) => resolve(path))
  if (authorities !== undefined) checkAuthorities(authorities)
  for (const pattern of [...all('deny-host'), ...all('allow-host')]) checkPattern(pattern)
  for (const allowance of all('allow-private')) checkAllowance(allowance)
  const [proxy] = all('egress-proxy')
  if (proxy !== undefined) checkProxy(proxy)
  const resolves = values['egress-proxy-resolves'] === true
  if (resolves && proxy === undefined)
    throw new UsageError('--egress-proxy-resolves needs --egress-proxy')
  const given = (flag: keyof Values) => all(flag).flatMap((value) => [`--${flag}=${value}`])
  return [
    ...(authorities === undefined ? [] : [`--upstream-ca=${authorities}`]),
    ...given('deny-host'),
    ...given('allow-host'),
    ...given('allow-private'),
    ...given('egress-proxy'),
    ...(resolves ? ['--egress-proxy-resolves'] : []),
  ]
}

function checkAuthorities(path: string): void {
  try {
    new X509Certificate(readFileSync(path))
  } catch (cause) {
    throw new SallyportError('bad_certificate', { cause })
  }
}

function checkPattern(text: string): void {
  const name = text.replace(/^\*\./, '')
  const isName = /^[\p{L}\p{N}_-]+(?:[.。][\p{L}\p{N}_-]+)*\.?$/u.test(name)
  if (!isName && !isNetwork(text))
    throw new UsageError(`not a name, *.name, an address or a network: ${text}`)
}

function checkAllowance(text: string): void {
  const [id, network = '', ...more] = text.split('=')
  const isKnown = isId('connection', id) || isId('webhook', id)
  if (!isKnown || !isNetwork(network) || more.length > 0)
    throw new UsageError(`not the id of a connection or webhook, "=" and a network: ${text}`)
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.replace(/^\[(.*)\]$/, '$1').split('/')
  return isIP(address) > 0 && /^\d{1,3}$/.test(prefix ?? '0') && more.length === 0
}

function checkProxy(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' || url.username !== '' || url.password !== '')
    throw new UsageError('--egress-proxy takes http://host:port, without user and path')
}
