/** The control API as typed calls over the table of routes. */
import { type Answer, type RequestBody, type RouteName, routes } from '@sallyport/protocol'

/** What the API refused, with the status and the code it told. */
export class ApiRefusal extends Error {
  readonly status: number
  readonly code: string
  readonly field: string | undefined

  constructor(route: string, status: number, text: string) {
    const { code, field } = errorIn(text)
    super(`${route}: ${status} ${code}`)
    this.status = status
    this.code = code
    this.field = field
  }
}

/** `params` fill the path; what the path does not name becomes the query. */
export type CallApi = <N extends RouteName>(
  name: N,
  params?: Readonly<Record<string, string | number>>,
  body?: RequestBody<N>,
) => Promise<Answer<N>>

export function apiAt(url: () => string, token: () => string): CallApi {
  return async (name, params = {}, body) => {
    const { method, path } = routes[name]
    const rest = new URLSearchParams()
    let filled: string = path
    for (const [key, value] of Object.entries(params)) {
      const place = `{${key}}`
      if (filled.includes(place)) filled = filled.replace(place, encodeURIComponent(value))
      else rest.set(key, String(value))
    }
    const query = rest.size > 0 ? `?${rest}` : ''
    const answer = await fetch(`${url()}/api/v1${filled}${query}`, {
      method,
      headers: {
        authorization: `Bearer ${token()}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new ApiRefusal(name, answer.status, text)
    return JSON.parse(text)
  }
}

function errorIn(text: string): { readonly code: string; readonly field?: string } {
  try {
    return JSON.parse(text).error
  } catch {
    return { code: 'no code' }
  }
}
