/** From the MCP server to the authorization server to ask: what was believed yesterday is checked. */
import { SallyportError } from '@sallyport/protocol'
import type { OAuthServer } from '@sallyport/protocol/node'
import { findResource, type ProtectedResource } from './find-resource.ts'
import { type AuthorizationServer, originsOf } from './find-server.ts'
import { checkServer, originsOfServer, serverNow } from './known-server.ts'
import type { Step } from './step.ts'

export interface Discovery {
  readonly resource: ProtectedResource
  readonly server: AuthorizationServer
  readonly places: AuthorizationServer['places']
  /** Where people, codes and tokens go. */
  readonly origins: OAuthServer
}

/** What somebody agreed to before. */
export interface Expected {
  readonly expectedIssuer?: string | undefined
  readonly expectedServer?: OAuthServer | undefined
}

/**
 * `preferred`: issuers to choose before the first of several. Rejects as its parts, and with `oauth_issuer_changed`,
 * `oauth_server_changed`.
 */
export async function discover(
  step: Pick<Step, 'http' | 'endpoint' | 'servers'>,
  preferred: readonly (string | undefined)[],
  { expectedIssuer, expectedServer }: Expected,
): Promise<Discovery> {
  const resource = await findResource(step.http, step.endpoint)
  const { issuers } = resource
  const chosen = preferred.find((one) => one !== undefined && issuers.includes(one)) ?? issuers[0]
  const issuer = chosen as string
  if (expectedIssuer !== undefined && issuer !== expectedIssuer)
    throw new SallyportError('oauth_issuer_changed')
  const server = await serverNow(step, issuer)
  const origins = originsOfServer(server)
  checkServer(origins, expectedServer)
  return { resource, server, origins, places: originsOf([resource.place, ...server.places]) }
}
