/** Calls the control API by the names of its table. */
import {
  type Answer,
  errorBody,
  type RequestBody,
  type Route,
  type RouteName,
  routes,
} from '@sallyport/protocol'
import { exchange } from './exchange.ts'
import { Failure, failure } from './failure.ts'

export interface Gateway {
  /** Of the control listener, without path. */
  readonly url: string
  readonly token: string | undefined
  /** What to do when nothing answers there. */
  readonly whenUnreachable: string
}

type PathOf<N extends RouteName> = (typeof routes)[N]['path']
type ParamNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never
type ParamsOf<N extends RouteName> = Readonly<Record<ParamNames<PathOf<N>>, string>>

/** Path parameters, query and body of a call, as far as the route has them. */
export type CallOf<N extends RouteName> = ([ParamNames<PathOf<N>>] extends [never]
  ? { readonly params?: Readonly<Record<string, never>> }
  : { readonly params: ParamsOf<N> }) &
  (RequestBody<N> extends undefined
    ? { readonly body?: undefined }
    : { readonly body: RequestBody<N> }) & {
    readonly query?: Readonly<Record<string, string | undefined>>
  }

/** Longer than the worker's longest listing. */
const answerWithin = 120_000

export interface CallLimits {
  /** Milliseconds to wait for the answer. */
  readonly within?: number
  /** Gives the call up. */
  readonly until?: AbortSignal
}

/** The API's answer as it came. Throws `Failure`: what the API refused, or `unreachable`, or `wrong_release`. */
export async function callRoute<N extends RouteName>(
  gateway: Gateway,
  name: N,
  call: CallOf<N>,
  limits: CallLimits = {},
): Promise<Answer<N>> {
  const route: Route = routes[name]
  const url = new URL(`/api/v1${fillPath(route.path, call.params ?? {})}`, gateway.url)
  for (const [key, value] of Object.entries(call.query ?? {}))
    if (value !== undefined) url.searchParams.set(key, value)
  const { status, body } = await send(gateway, url, {
    method: route.method,
    body: call.body,
    ...limits,
  })
  if (status >= 400) throw refusal(gateway, status, body)
  if (!route.answer.safeParse(body).success) throw failure('wrong_release')
  return body as Answer<N>
}

function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = params[key] ?? ''
    // A URL takes these for steps in the tree, encoded or not: they would name another route.
    if (value === '' || value === '.' || value === '..') throw failure('not_found')
    return encodeURIComponent(value)
  })
}

async function send(
  gateway: Gateway,
  url: URL,
  { method, body, within = answerWithin, until }: CallLimits & { method: string; body: unknown },
): Promise<{ status: number; body: unknown }> {
  const headers = {
    accept: 'application/json',
    ...(gateway.token === undefined ? {} : { authorization: `Bearer ${gateway.token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const late = AbortSignal.timeout(within)
  try {
    const { status, text } = await exchange(url, {
      method,
      headers,
      signal: until ? AbortSignal.any([late, until]) : late,
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    // Sallyport sends nobody elsewhere, and the token would go along.
    if (status >= 300 && status < 400) throw new Error('a redirect')
    return { status, body: parse(text) }
  } catch (thrown) {
    throw failure('unreachable', { next: nextFor(thrown, gateway) })
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function nextFor(thrown: unknown, gateway: Gateway): string {
  if (thrown instanceof Error && thrown.name === 'TimeoutError')
    return 'It did not answer in time. See "sallyport doctor".'
  const { code = '' } = thrown as { readonly code?: string }
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code))
    return 'Its certificate is not trusted here. Name the authority in NODE_EXTRA_CA_CERTS.'
  return gateway.whenUnreachable
}

function refusal(gateway: Gateway, status: number, body: unknown): Failure {
  const parsed = errorBody.safeParse(body)
  if (parsed.success) return new Failure(parsed.data.error)
  return failure('unreachable', {
    next: `What answers at ${gateway.url} (HTTP ${status}) is not Sallyport. Set SALLYPORT_URL.`,
  })
}
