import { type ConnectionId, parseEndpoint, SallyportError } from '@sallyport/protocol'
import type { NewConnection } from '../connection/create-connection.ts'
import type { Tx } from '../store.ts'
import type { Service } from './service.ts'

/**
 * The service that a new connection is to, kept until the transaction ends. Throws `not_found` when it is not offered,
 * `bad_request` when what was given is not how one signs in there, and `bad_url` for another server.
 */
export async function lockOffered(
  tx: Tx,
  name: string,
  { endpoint, credential, authentication, transport }: NewConnection,
): Promise<Service> {
  const service = await tx.services.lock(name)
  if (!service) throw new SallyportError('not_found', { field: 'service' })
  const isSignedIn = service.method !== 'none'
  if (authentication || transport !== 'http' || (isSignedIn && credential))
    throw new SallyportError('bad_request', { field: 'service' })
  const { scheme, host, port } = parseEndpoint(service.resource, true)
  const { clear } = endpoint ?? {}
  if (clear?.scheme !== scheme || clear.host !== host || clear.port !== port)
    throw new SallyportError('bad_url', { field: 'url' })
  return service
}

/** How the connection gets its credential, with the client of the service; nothing where one is given with it. */
export async function signInAt(
  tx: Tx,
  connectionId: ConnectionId,
  { method, scopeWanted, clientId }: Service,
): Promise<void> {
  if (method === 'none') return
  await tx.oauth.putConnection({
    connectionId,
    grantType: method === 'oauth' ? 'authorization_code' : method,
    scopeWanted,
    scopeRequired: [],
    clientId,
    issuer: null,
    server: null,
    places: [],
  })
}
