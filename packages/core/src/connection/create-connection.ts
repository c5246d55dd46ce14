import { type ConnectionId, isConnectionName, SallyportError } from '@sallyport/protocol'
import { insertCredential } from '../credential/insert-credential.ts'
import type { Deps } from '../deps.ts'
import { lockOffered, signInAt } from '../service/offered-service.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'
import {
  checkEndpoint,
  type Destinations,
  type GivenCredential,
  type GivenEndpoint,
} from './check-secrets.ts'
import {
  type Connection,
  type ConnectionLimits,
  connectionsPerScope,
  defaultLimits,
  type Transport,
} from './connection.ts'
import { type GivenAuthentication, insertAuthentication } from './given-authentication.ts'
import { scopeKind, scopeOf } from './scope.ts'

export interface NewConnection {
  /** Chosen by whoever sealed, since the seals name it. */
  readonly id?: ConnectionId | undefined
  readonly name: string
  /** `org`, `personal` or `project:<name>`. */
  readonly scope: string
  readonly transport: Transport
  readonly required: boolean
  readonly limits: { readonly [K in keyof ConnectionLimits]?: number | undefined }
  readonly endpoint?: GivenEndpoint | undefined
  readonly credential?: GivenCredential | undefined
  /** Instead of a credential. */
  readonly authentication?: GivenAuthentication | undefined
  /** Instead of an authentication: the name of a service that is offered, and that this is a connection to. */
  readonly service?: string | undefined
}

/**
 * Adds a draft. Personal ones are anybody's own; org and projects are the administrators'. Throws `not_allowed`,
 * `bad_name`, `bad_url`, `bad_header`, `seal_*`, `name_taken`, `connection_limit`, `transport_not_available`,
 * and what a service that is not offered so is refused with.
 */
export function createConnection(
  { store, ids }: Deps,
  actor: Actor,
  input: NewConnection,
  destinations: Destinations,
): Promise<Connection> {
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const draft = draftOf(confirmed, input, input.id ?? ids('connection'), await tx.now())
    if (!input.endpoint) throw new SallyportError('bad_request', { field: 'endpoint' })
    const service =
      input.service === undefined ? undefined : await lockOffered(tx, input.service, input)
    if (input.credential && input.authentication)
      throw new SallyportError('bad_request', { field: 'authentication' })
    checkEndpoint(input.endpoint, draft, destinations)
    await holdSealKey(tx, input.endpoint.seal)
    await insert(tx, draft)
    if (input.credential) await insertCredential(tx, draft, input.credential)
    if (input.authentication) await insertAuthentication(tx, draft, input.authentication)
    if (service) await signInAt(tx, draft.id, service)
    return draft
  })
}

function draftOf(actor: Actor, input: NewConnection, id: ConnectionId, now: number): Connection {
  const scope = scopeOf(input.scope, actor)
  const isPersonal = scopeKind(scope) === 'personal'
  const isAdmin = actor.role === 'admin'
  // A stdio connection is a program on the worker's machine, in every scope.
  if (!isAdmin && (!isPersonal || input.transport !== 'http'))
    throw new SallyportError('not_allowed')
  if (input.transport !== 'http') throw new SallyportError('transport_not_available')
  if (!isConnectionName(input.name)) throw new SallyportError('bad_name', { field: 'name' })
  return {
    id,
    name: input.name,
    scope,
    ownerId: isPersonal ? actor.userId : null,
    transport: input.transport,
    state: 'draft',
    revision: 1,
    version: 1,
    required: input.required,
    limits: withLimits(defaultLimits, input.limits),
    endpointSeal: input.endpoint?.seal ?? null,
    endpointClear: input.endpoint?.clear ?? null,
    credentialId: input.credential?.id ?? null,
    publishedId: null,
    everEnabled: false,
    health: { state: 'unknown', code: null, at: null },
    createdAt: now,
    updatedAt: now,
  }
}

export function withLimits(
  limits: ConnectionLimits,
  given: NewConnection['limits'],
): ConnectionLimits {
  return {
    callMs: given.callMs ?? limits.callMs,
    resultBytes: given.resultBytes ?? limits.resultBytes,
  }
}

async function insert(tx: Tx, draft: Connection): Promise<void> {
  const outcome = await tx.connections.insert(draft, connectionsPerScope)
  switch (outcome) {
    case 'inserted':
      return
    case 'limit':
      throw new SallyportError('connection_limit')
    case 'name':
      throw new SallyportError('name_taken', { field: 'name' })
    case 'id':
      throw new SallyportError('conflict', { field: 'id' })
  }
}
