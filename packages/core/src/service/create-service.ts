import {
  isConnectionName,
  type OAuthClientId,
  parseEndpoint,
  SallyportError,
  type ServiceId,
} from '@sallyport/protocol'
import { placeProblem, readSealHeader } from '@sallyport/protocol/node'
import { checkOrigin, type Destinations } from '../connection/check-secrets.ts'
import { orgScope } from '../connection/scope.ts'
import type { Deps } from '../deps.ts'
import type { Tx } from '../store.ts'
import { confirmAdmin } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'
import type { Service, ServiceMethod } from './service.ts'

export interface NewService {
  readonly name: string
  readonly resource: string
  readonly method: ServiceMethod
  readonly scopeWanted: readonly string[]
  readonly client?:
    | { readonly id: OAuthClientId; readonly seal: string; readonly issuer?: string | undefined }
    | undefined
}

/**
 * Offers a service from now on. Throws `not_allowed`, `bad_name`, `bad_url`, `name_taken`, `seal_*`, `conflict` when the
 * client's id is in use, and `bad_request` for a client where none is used, or none where one is needed.
 */
export function createService(
  { store, ids }: Deps,
  actor: Actor,
  { name, resource, method, scopeWanted, client }: NewService,
  destinations: Destinations,
): Promise<Service> {
  return store.transact(async (tx) => {
    const { userId } = await confirmAdmin(tx, actor)
    if (!isConnectionName(name)) throw new SallyportError('bad_name', { field: 'name' })
    const { url, ...origin } = parseEndpoint(resource, destinations.localAllowed)
    checkOrigin(origin, destinations)
    const fits = method === 'oauth' || (client !== undefined) === (method === 'client_credentials')
    if (!fits) throw new SallyportError('bad_request', { field: 'client' })
    const id = ids('service')
    if (client) await insertClient(tx, id, client)
    const service: Service = {
      ...{ id, name, resource: url, method, scopeWanted },
      clientId: client?.id ?? null,
      createdBy: userId,
      createdAt: await tx.now(),
    }
    if (!(await tx.services.insert(service)))
      throw new SallyportError('name_taken', { field: 'name' })
    return service
  })
}

/** It is the service's, so that no other connection takes it for a registration. */
async function insertClient(
  tx: Tx,
  serviceId: ServiceId,
  { id, seal, issuer }: NonNullable<NewService['client']>,
): Promise<void> {
  const place = { kind: 'oauth_client', id, scope: orgScope, version: 1 } as const
  const problem = placeProblem(readSealHeader(seal).sallyport, place)
  if (problem) throw new SallyportError(problem, { field: 'client' })
  await holdSealKey(tx, seal)
  const createdAt = await tx.now()
  const row = {
    ...{ id, scope: orgScope, version: 1, issuer: issuer ?? null, seal, createdAt },
    connectionId: serviceId,
  }
  if (!(await tx.oauth.insertClient(row))) throw new SallyportError('conflict', { field: 'client' })
}
