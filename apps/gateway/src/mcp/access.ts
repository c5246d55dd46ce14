/** Who may speak to the endpoint at all: the right host, no foreign page behind a browser, and a bearer of the right form. */
import type { Headers } from './era.ts'

/**
 * A page that a browser was tricked into (DNS rebinding) brings its own name in `Host` or `Origin`. Programs send no
 * `Origin`; one that names ourselves is accepted.
 */
export function isOwnRequest(headers: Headers, hosts: ReadonlySet<string>): boolean {
  const { host, origin } = headers
  if (typeof host !== 'string' || !hosts.has(host.toLowerCase())) return false
  if (origin === undefined) return true
  const from = typeof origin === 'string' ? /^https?:\/\/(.+)$/i.exec(origin)?.[1] : undefined
  return from !== undefined && hosts.has(from.toLowerCase())
}

/** The token of `Bearer <token>`: two parts, one space, the scheme in any case. Undefined for every other form. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^bearer ([A-Za-z0-9_-]{43})$/i.exec(authorization ?? '')?.[1]
}

/** The connection of `/mcp/<connection>`, null for `/mcp`, undefined for any other path. */
export function connectionOf(url: string | undefined): string | null | undefined {
  if (url === '/mcp') return null
  const path = /^\/mcp(?:\/([a-z0-9-]{1,32}))?(?:\?.*)?$/.exec(url ?? '')
  return path ? (path[1] ?? null) : undefined
}
