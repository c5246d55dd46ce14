/**
 * Secrets come sealed. A machine that cannot seal says so and sends text, which is sealed here before anything else
 * happens with it.
 */
import {
  type Actor,
  type Connection,
  type GivenCredential,
  type GivenEndpoint,
  scopeOf,
} from '@sallyport/core'
import {
  type ConnectionId,
  type CredentialId,
  type ParsedBody,
  SallyportError,
} from '@sallyport/protocol'
import { sealConnection, sealCredential } from '@sallyport/protocol/node'
import type { ApiDeps } from './api-deps.ts'

type Create = ParsedBody<'connection.create'>
type Edit = ParsedBody<'connection.edit'>

interface Given {
  readonly endpoint: GivenEndpoint | undefined
  /** null takes it away. */
  readonly credential: GivenCredential | null | undefined
}

/** Throws `plaintext_refused`, `bad_request`, and what sealing throws. */
export function secretsOfNew(
  deps: ApiDeps,
  actor: Actor,
  body: Create,
): Pick<Given, 'endpoint'> & {
  readonly id: ConnectionId
  readonly credential: GivenCredential | undefined
} {
  const id = (body.id as ConnectionId | undefined) ?? deps.ids('connection')
  if (!isPlaintext(body)) return { id, ...sealedOf(body) }
  const sealed = sealConnection({
    ...plaintextOf(deps, body),
    connectionId: id,
    credentialId: deps.ids('credential'),
    scope: scopeOf(body.scope, actor),
    revision: 1,
    credentialVersion: 1,
  })
  return { id, ...sealed }
}

/** A new secret for a connection that has one is the next version of it. Throws as `secretsOfNew`. */
export async function secretsOfEdit(
  deps: ApiDeps,
  connection: Connection,
  body: Edit,
): Promise<Given> {
  const dropped = body.credential === null ? null : undefined
  if (!isPlaintext(body))
    return { ...sealedOf(body), ...(dropped === null && { credential: null }) }
  const present =
    connection.credentialId === null
      ? undefined
      : await deps.store.credentials.get(connection.credentialId)
  const input = {
    ...plaintextOf(deps, body),
    credentialId: present?.id ?? deps.ids('credential'),
    credentialVersion: (present?.version ?? 0) + 1,
    scope: connection.scope,
  }
  if (body.keepEndpoint)
    return { endpoint: undefined, credential: sealCredential(input) ?? dropped }
  const revision = connection.revision + 1
  const sealed = sealConnection({ ...input, connectionId: connection.id, revision })
  return { endpoint: sealed.endpoint, credential: sealed.credential ?? dropped }
}

/** Throws `plaintext_refused` for text that came without the word, `bad_request` for text and seals mixed. */
function isPlaintext(body: Create | Edit): boolean {
  const field = (['url', 'secret', 'keepEndpoint'] as const).find(
    (name) => (body as Edit)[name] !== undefined,
  )
  if (field === undefined) return false
  if (!body.allowPlaintext) throw new SallyportError('plaintext_refused', { field })
  if (body.endpoint || body.credential) throw new SallyportError('bad_request', { field })
  return true
}

function sealedOf({ endpoint, credential }: Create | Edit): {
  readonly endpoint: GivenEndpoint | undefined
  readonly credential: GivenCredential | undefined
} {
  return {
    endpoint,
    credential: credential ? { ...credential, id: credential.id as CredentialId } : undefined,
  }
}

function plaintextOf({ worker, destinations }: ApiDeps, { url, secret }: Create | Edit) {
  // A secret is sealed together with the place it may go to.
  if (url === undefined) throw new SallyportError('bad_request', { field: 'url' })
  return {
    url,
    token: secret?.token,
    headers: secret?.headers ?? [],
    key: worker.vaultKey(),
    localAllowed: destinations.localAllowed,
  }
}
