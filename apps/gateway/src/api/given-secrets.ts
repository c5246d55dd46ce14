/**
 * Secrets come sealed. A machine that cannot seal says so and sends text, which is sealed here before anything else
 * happens with it.
 */
import {
  type Actor,
  type Connection,
  type GivenAuthentication,
  type GivenCredential,
  type GivenEndpoint,
  type NewWebhook,
  scopeOf,
  webhookPlace,
} from '@sallyport/core'
import {
  type ConnectionId,
  type CredentialId,
  type OAuthClientId,
  type ParsedBody,
  SallyportError,
  type WebhookId,
} from '@sallyport/protocol'
import { sealConnection, sealCredential, sealWebhook } from '@sallyport/protocol/node'
import type { ApiDeps } from './api-deps.ts'

type Create = ParsedBody<'connection.create'>
type CreateWebhook = ParsedBody<'webhook.create'>
type Edit = ParsedBody<'connection.edit'>

interface Given {
  readonly endpoint: GivenEndpoint | undefined
  /** null takes it away. */
  readonly credential: GivenCredential | null | undefined
}

/** `resource`: of the service it is a connection to. Throws `plaintext_refused`, `bad_request`, and what sealing throws. */
export function secretsOfNew(
  deps: ApiDeps,
  actor: Actor,
  body: Create,
  resource?: string,
): Pick<Given, 'endpoint'> & {
  readonly id: ConnectionId
  readonly credential: GivenCredential | undefined
} {
  const id = (body.id as ConnectionId | undefined) ?? deps.ids('connection')
  const isPlain = isConnectionPlain(body)
  // What is offered is no secret: whoever adds it need not seal it.
  const isOffered = resource !== undefined && !body.endpoint
  if (!isPlain && !isOffered) return { id, ...sealedOf(body) }
  if (isOffered && body.credential) throw new SallyportError('bad_request', { field: 'endpoint' })
  if (isOffered && body.url !== undefined) throw new SallyportError('bad_request', { field: 'url' })
  const sealed = sealConnection({
    ...plaintextOf(deps, isOffered ? { ...body, url: resource } : body),
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
  if (!isConnectionPlain(body))
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

/** Throws `plaintext_refused`, `bad_request`, and what sealing throws. */
export function secretsOfWebhook(
  deps: ApiDeps,
  body: CreateWebhook,
): Pick<NewWebhook, 'id' | 'seal' | 'clear'> {
  const id = (body.id as WebhookId | undefined) ?? deps.ids('webhook')
  const { seal, clear, url, secret } = body
  if (!isPlaintext(body)) {
    if (seal && clear && body.id) return { id, seal, clear }
    throw new SallyportError('bad_request', { field: 'seal' })
  }
  if (seal || clear || url === undefined || secret === undefined)
    throw new SallyportError('bad_request', { field: 'url' })
  const { sealing: key } = deps.vault.view()
  const { localAllowed } = deps.destinations
  return { id, ...sealWebhook({ url, secret, webhookId: id, ...webhookPlace, key, localAllowed }) }
}

export function authenticationOf({ authentication }: Create): GivenAuthentication | undefined {
  if (!authentication) return undefined
  const { method, scopeWanted, client } = authentication
  return {
    grant: method === 'oauth' ? 'authorization_code' : method,
    scopeWanted,
    client: client && { ...client, id: client.id as OAuthClientId },
  }
}

/** Throws `plaintext_refused` for text that came without the word. */
export function isPlaintext(body: Create | Edit | CreateWebhook): boolean {
  const field = (['url', 'secret', 'keepEndpoint'] as const).find(
    (name) => (body as Edit)[name] !== undefined,
  )
  if (field === undefined) return false
  if (!body.allowPlaintext) throw new SallyportError('plaintext_refused', { field })
  return true
}

/** Throws as `isPlaintext`, and `bad_request` for text and seals mixed. */
function isConnectionPlain(body: Create | Edit): boolean {
  const isPlain = isPlaintext(body)
  if (isPlain && (body.endpoint || body.credential))
    throw new SallyportError('bad_request', { field: 'url' })
  return isPlain
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

function plaintextOf({ vault, destinations }: ApiDeps, { url, secret }: Create | Edit) {
  // A secret is sealed together with the place it may go to.
  if (url === undefined) throw new SallyportError('bad_request', { field: 'url' })
  return {
    url,
    token: secret?.token,
    headers: secret?.headers ?? [],
    key: vault.view().sealing,
    localAllowed: destinations.localAllowed,
  }
}
