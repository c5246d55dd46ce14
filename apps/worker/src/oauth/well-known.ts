/** Where metadata is, in the order the specification tries the places. */

/** Of a protected resource, when the server did not say: with its path, then of the whole host. */
export function resourcePlaces(endpointUrl: string): readonly string[] {
  const { origin, pathname } = new URL(endpointUrl)
  const root = `${origin}/.well-known/oauth-protected-resource`
  return pathname === '/' ? [root] : [`${root}${pathname}`, root]
}

/** Of an authorization server: OAuth, then OpenID with the path inserted, then OpenID with the path before it. */
export function serverPlaces(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  // RFC 8414 3.1: a last slash goes before the path is inserted.
  const path = pathname.replace(/\/$/, '')
  const inserted = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ]
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}
