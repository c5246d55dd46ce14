/** What is inside a seal, checked by the same rules that ran where it was sealed: whoever wrote the database is not trusted. */
import {
  checkHeaderNames,
  checkSecret,
  destinationOf,
  type Endpoint,
  parseEndpoint,
  SallyportError,
} from '@sallyport/protocol'
import type { CredentialClear, CredentialSecret, EndpointSecret } from '@sallyport/protocol/node'
import { formsOfUrl, formsOfValues } from './leak-forms.ts'
import { clearOfBundle, readBundle } from './read-oauth.ts'

export interface OpenedEndpoint extends Endpoint {
  /** Path and query, as sent. */
  readonly path: string
  readonly destination: string
  readonly forms: readonly Buffer[]
}

export interface OpenedCredential {
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  /** Of an access token, in milliseconds since 1970; undefined when nobody knows. */
  readonly expiresAt: number | undefined
  readonly destinations: readonly string[]
  readonly clear: CredentialClear
  readonly forms: readonly Buffer[]
}

/** Throws `seal_unreadable`, `bad_url`, `local_upstreams_off`. */
export function readEndpoint(plaintext: unknown, localAllowed: boolean): OpenedEndpoint {
  const { url } = (plaintext ?? {}) as Partial<EndpointSecret>
  if (typeof url !== 'string') throw new SallyportError('seal_unreadable')
  const endpoint = parseEndpoint(url, true)
  if (endpoint.scheme === 'http' && !localAllowed) throw new SallyportError('local_upstreams_off')
  const { pathname, search } = new URL(endpoint.url)
  return {
    ...endpoint,
    path: `${pathname}${search}`,
    destination: destinationOf(endpoint.url),
    forms: formsOfUrl(endpoint.url),
  }
}

/** Throws `seal_unreadable`, `bad_secret`, `bad_header`. */
export function readCredential(plaintext: unknown): OpenedCredential {
  if (!isCredential(plaintext)) throw new SallyportError('seal_unreadable')
  const { token, headers, destinations } = plaintext
  const oauth = plaintext.oauth === undefined ? undefined : readBundle(plaintext.oauth)
  if (oauth && token === undefined) throw new SallyportError('seal_unreadable')
  if (token !== undefined) checkSecret(token, 'token')
  for (const { value } of headers) checkSecret(value, 'headers')
  const headerNames = headers.map(({ name }) => name)
  checkHeaderNames(headerNames, token !== undefined)
  const sent = headers
    .filter(({ name }) => name.toLowerCase() !== 'accept-encoding')
    .flatMap(({ name, value }) => [name, onTheWire(value)])
  if (token !== undefined) sent.push('authorization', onTheWire(`Bearer ${token}`))
  const values = headers.map(({ value }) => value)
  return {
    headers: sent,
    expiresAt: oauth?.expiresAt,
    destinations,
    clear: {
      bearer: token !== undefined,
      headerNames,
      ...(oauth ? { oauth: clearOfBundle(oauth) } : {}),
    },
    forms: formsOfValues(token === undefined ? values : [token, ...values]),
  }
}

function isCredential(plaintext: unknown): plaintext is CredentialSecret {
  const { token, headers, destinations } = (plaintext ?? {}) as Partial<CredentialSecret>
  return (
    (token === undefined || typeof token === 'string') &&
    Array.isArray(headers) &&
    headers.every((one) => typeof one?.name === 'string' && typeof one.value === 'string') &&
    Array.isArray(destinations) &&
    destinations.every((one) => typeof one === 'string')
  )
}

/** HTTP headers are written byte by byte; text beyond ASCII goes as its UTF-8 bytes. */
function onTheWire(value: string): string {
  return Buffer.from(value).toString('latin1')
}
