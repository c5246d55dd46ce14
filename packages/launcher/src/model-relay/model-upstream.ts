/** The one place a relay leads to: a host, and what of its paths. */
import { isIP } from 'node:net'
import { SallyportError } from '@sallyport/protocol'
import { addressKind, canonicalName } from '@sallyport/protocol/network'
import type { Place } from '../outlets/reach.ts'
import { type ModelProvider, type ModelProviderName, modelProviders } from './model-provider.ts'

export interface ModelUpstream extends Place {
  readonly provider: ModelProviderName
  readonly isPlain: boolean
  /** Of the base URL, without a slash at its end. */
  readonly base: string
  /** Ends with a slash; no request leads elsewhere. */
  readonly prefix: string
  /** As it goes into `Host`. */
  readonly authority: string
  readonly header: ModelProvider['header']
  /** A model on this machine, which the operator named: the only one that may be spoken to without TLS. */
  readonly isLocal: boolean
}

/** `url`: another than the provider's own. Throws `bad_model_url`. */
export function modelUpstream(name: ModelProviderName, url?: string): ModelUpstream {
  const provider = modelProviders[name]
  const parsed = parse(url ?? provider.url)
  const bare = parsed.hostname.replace(/^\[(.*)\]$/, '$1')
  const host = isIP(bare) > 0 ? bare : canonicalName(bare)
  const isPlain = parsed.protocol === 'http:'
  const isLocal = bare === 'localhost' || addressKind(bare) === 'loopback'
  if (host === undefined || (isPlain && !isLocal)) throw new SallyportError('bad_model_url')
  const base = parsed.pathname.replace(/\/+$/, '')
  return {
    provider: name,
    host,
    port: Number(parsed.port || (isPlain ? 80 : 443)),
    isPlain,
    isLocal,
    base,
    prefix: `${base}${provider.below}`,
    authority: parsed.host,
    header: provider.header,
  }
}

/** What is shown of it: nothing in it is secret, which `parse` has seen to. */
export function originOf({ isPlain, authority, prefix }: ModelUpstream): string {
  return `${isPlain ? 'http' : 'https'}://${authority}${prefix}`
}

function parse(text: string): URL {
  if (!URL.canParse(text)) throw new SallyportError('bad_model_url')
  const url = new URL(text)
  const isBare = !url.username && !url.password && !url.search && !url.hash
  const isPath = /^\/[\w./~-]*$/.test(url.pathname) && !url.pathname.includes('//')
  if (!/^https?:$/.test(url.protocol) || !isBare || !isPath)
    throw new SallyportError('bad_model_url')
  return url
}

/** Where the operator named a host of a private network, it may be there; nobody's destination it never is. */
export function judgeModelAddress({ isLocal }: ModelUpstream, address: string): boolean {
  const kind = addressKind(address)
  return isLocal ? kind === 'loopback' : kind === 'public' || kind === 'private'
}
