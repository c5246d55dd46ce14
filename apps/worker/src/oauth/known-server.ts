/** What an authorization server publishes, from what was read lately or anew, compared with what somebody agreed to. */
import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import type { OAuthBundle, OAuthServer } from '@sallyport/protocol/node'
import { defined } from './defined.ts'
import { type AuthorizationServer, findServer } from './find-server.ts'
import type { OAuthHttp } from './oauth-http.ts'
import type { Step } from './step.ts'

type Finding = Pick<Step, 'http' | 'servers'>

/** A person is on the way, who can see only what is there now; but several may sign in at once. */
const signInMs = 60_000
/** A grant is refreshed about as often. */
const grantMs = 3_600_000
/** One that could not be read is not asked for with every refresh. */
const missedMs = 60_000
/** A refresh does not depend on it, so it does not wait for it long. */
const lookMs = 3_000

/** For a sign-in. Rejects as `findServer`. */
export async function serverNow({ http, servers }: Finding, issuer: string) {
  const place = placeOf(http, issuer)
  const known = servers.get(place, signInMs)
  if (known) return known
  const server = await findServer(http, issuer)
  servers.put(place, server)
  return server
}

/** Does a part of a sign-in. Whoever tries again after a failure sees what is published then. */
export async function withServer<T>(
  { http, servers }: Finding,
  issuer: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    servers.forget(placeOf(http, issuer))
    throw thrown
  }
}

export type GrantPlaces = Pick<OAuthBundle, 'tokenEndpoint' | 'revocationEndpoint'>

/**
 * Where the tokens of a grant go: to the hosts in its seal and to no others, at the paths that the server names now. What
 * cannot be read, or is nothing that could be believed, changes nothing. Rejects with `oauth_server_changed` when `needed`
 * is at another host.
 */
export async function grantPlaces(
  finding: Finding,
  bundle: OAuthBundle,
  needed: keyof GrantPlaces,
): Promise<GrantPlaces> {
  const server = await look(finding, bundle.issuer)
  const { tokenEndpoint, revocationEndpoint } = bundle
  if (!server) return { tokenEndpoint, ...defined({ revocationEndpoint }) }
  const token = server.tokenEndpoint.url
  const revocation = server.revocationEndpoint?.url
  const moved = {
    tokenEndpoint: !isSameOrigin(token, tokenEndpoint),
    // One that is new is believed where tokens go anyway.
    revocationEndpoint:
      revocation !== undefined && !isSameOrigin(revocation, revocationEndpoint ?? tokenEndpoint),
  }
  if (moved[needed]) throw new SallyportError('oauth_server_changed')
  const revoking = moved.revocationEndpoint ? undefined : revocation
  return {
    tokenEndpoint: moved.tokenEndpoint ? tokenEndpoint : token,
    ...defined({ revocationEndpoint: revoking ?? revocationEndpoint }),
  }
}

/** A server that has too much to do, or does not answer, has not moved. */
const unexplained: readonly ErrorCode[] = ['oauth_unavailable', 'upstream_timeout']

/**
 * As `grantPlaces`, from what is published by now: for a failure that a change may explain. Rejects with what was thrown where
 * it explains nothing.
 */
export async function placesAnew(
  finding: Finding,
  bundle: OAuthBundle,
  needed: keyof GrantPlaces,
  thrown: unknown,
): Promise<GrantPlaces> {
  if (unexplained.includes(toSallyportError(thrown).code)) throw thrown
  finding.servers.forget(placeOf(finding.http, bundle.issuer))
  return await grantPlaces(finding, bundle, needed)
}

export function originsOfServer(server: AuthorizationServer): OAuthServer {
  const { authorizationEndpoint, tokenEndpoint, revocationEndpoint } = server
  return {
    token: originOf(tokenEndpoint.url),
    ...defined({
      authorization: authorizationEndpoint && originOf(authorizationEndpoint.url),
      revocation: revocationEndpoint && originOf(revocationEndpoint.url),
    }),
  }
}

/** Throws `oauth_server_changed` where people, codes or tokens would go to another host than somebody agreed to. */
export function checkServer(now: OAuthServer, agreed: OAuthServer | undefined): void {
  if (!agreed) return
  const { authorization = agreed.token, revocation = agreed.token } = agreed
  const isMoved =
    now.token !== agreed.token ||
    (now.authorization !== undefined && now.authorization !== authorization) ||
    (now.revocation !== undefined && now.revocation !== revocation)
  if (isMoved) throw new SallyportError('oauth_server_changed')
}

/** Undefined where it cannot be known now, and nothing was read before. */
async function look({ http, servers }: Finding, issuer: string) {
  const place = placeOf(http, issuer)
  const recent = servers.get(place, grantMs)
  if (recent) return recent
  try {
    if (!servers.hasMissed(place, missedMs))
      servers.put(place, await findServer(http.aside(lookMs), issuer))
  } catch {
    // The seal says where to go, and what cannot be read says nothing else.
    servers.miss(place)
  }
  return servers.get(place, Number.POSITIVE_INFINITY)
}

/** Plain http on this machine is believed for some connections only. */
function placeOf({ localAllowed }: OAuthHttp, issuer: string): string {
  return `${localAllowed ? 'local' : 'far'} ${issuer}`
}

function isSameOrigin(one: string, other: string): boolean {
  return originOf(one) === originOf(other)
}

function originOf(url: string): string {
  return new URL(url).origin
}
