import {
  type ConnectionId,
  type InstanceId,
  type OAuthClientId,
  type OAuthFlowId,
  SallyportError,
  toSallyportError,
} from '@sallyport/protocol'
import {
  digestBytes,
  type OAuthBegin,
  type OAuthBegun,
  type OAuthGranted,
  oauthFlowMs,
  type SealedOAuthClient,
} from '@sallyport/protocol/node'
import { checkMayManage } from '../connection/connection-access.ts'
import type { Deps } from '../deps.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Store, Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'
import { unusedGrant } from './ended-grant.ts'
import type { OAuthConnection, OAuthFlow, StoredOAuthClient } from './oauth.ts'
import type { OAuthTarget, OAuthWorker } from './oauth-worker.ts'
import { presentCredential } from './present-credential.ts'
import { keepRegistration, publishGrant } from './publish-grant.ts'
import { scopesAtMost } from './require-scope.ts'
import { signInEvent } from './sign-in-event.ts'

export interface OAuthDeps extends Deps {
  /** This gateway. */
  readonly instance: InstanceId
  readonly oauth: Pick<OAuthWorker, 'begin' | 'finish'>
}

export interface SignIn {
  /** Where the browser comes back to. */
  readonly redirectUri: string
  /** Where our client id metadata document is, when it has a public address. */
  readonly clientMetadataUrl: string | undefined
  /** A person has agreed to another authorization server than the one of before, or to other hosts of it. */
  readonly acceptsIssuer: boolean
}

/** Of `authorizeUrl` null there is nobody to send anywhere: it is done. */
export interface BegunSignIn {
  readonly flow: OAuthFlow
  readonly authorizeUrl: string | null
}

const registrationsAtMost = 32
/** Whoever asks late what became of a flow is still told. */
const keptMs = 3_600_000

/**
 * Asks the worker for the address that a person signs in at; for client credentials, for the credential itself. Throws what
 * the worker throws, `bad_request` for a connection without OAuth, and what managing one throws.
 */
export async function beginSignIn(
  deps: OAuthDeps,
  actor: Actor,
  id: ConnectionId,
  signIn: SignIn,
): Promise<BegunSignIn> {
  const target = await oauthTarget(deps.store, id)
  checkMayManage(actor, target.connection)
  const state = Buffer.from(deps.random(32)).toString('base64url')
  const request = await requestOf(deps, target, signIn, state)
  const flowId = deps.ids('oauthFlow')
  const answer = await deps.oauth
    .begin(target, request)
    .catch((thrown: unknown) => refuse(deps, actor, { target, flowId, thrown }))
  const begun = deps.journal.transact(async (tx, page) => {
    const confirmed = await confirmActor(tx, actor)
    checkMayManage(confirmed, await tx.connections.get(id))
    const now = await tx.now()
    await tx.oauth.dropFlows(now - keptMs)
    const flow: OAuthFlow = {
      id: flowId,
      stateHash: digestBytes(state),
      ...(answer.kind === 'begun'
        ? { state: 'waiting', issuer: answer.issuer, pending: answer.pending, account: null }
        : { state: 'done', issuer: '', pending: '', account: answer.account }),
      connectionId: id,
      connectionRevision: target.connection.revision,
      userId: actor.userId,
      finisher: null,
      credentialId: target.credential?.id ?? null,
      freshCredentialId: request.freshCredentialId as OAuthFlow['freshCredentialId'],
      code: null,
      createdAt: now,
      expiresAt: now + oauthFlowMs,
    }
    await settle(tx, page, { flow, target, request, answer })
    return { flow, authorizeUrl: answer.kind === 'begun' ? answer.authorizeUrl : null }
  })
  const granted = answer.kind === 'granted' ? answer : undefined
  return begun.catch((thrown: unknown) => refuse(deps, actor, { target, flowId, thrown, granted }))
}

interface Refusal {
  readonly target: OAuthTarget
  readonly flowId: OAuthFlowId
  readonly thrown: unknown
  /** It was given all the same. */
  readonly granted?: OAuthGranted | undefined
}

/** Nothing began: what was given is taken back, and the journal tells who tried, and why it did not. */
async function refuse(
  { journal }: OAuthDeps,
  { userId }: Actor,
  { target, flowId, thrown, granted }: Refusal,
): Promise<never> {
  const { code } = toSallyportError(thrown)
  await journal.transact(async (tx, page) => {
    // A commit whose end was unclear may have begun it.
    if (await tx.oauth.flow(flowId)) return
    const at = await tx.now()
    if (granted) page.end(unusedGrant(target, granted, at))
    page.note(signInEvent('sign_in_refused', target.connection, { userId }, { at, code }))
  })
  throw thrown
}

/** The connection with OAuth, and its credential unless that was revoked. */
export async function oauthTarget(
  store: Pick<Store, 'connections' | 'credentials' | 'oauth'>,
  id: ConnectionId,
): Promise<OAuthTarget & { readonly oauth: OAuthConnection }> {
  const connection = await store.connections.get(id)
  const oauth = await store.oauth.connection(id)
  if (!connection || connection.state === 'deleted') throw new SallyportError('not_found')
  if (!oauth) throw new SallyportError('bad_request', { field: 'connection' })
  return { connection, oauth, credential: await presentCredential(store, connection) }
}

async function requestOf(
  { store, ids }: OAuthDeps,
  { connection, oauth, credential }: Awaited<ReturnType<typeof oauthTarget>>,
  { redirectUri, clientMetadataUrl, acceptsIssuer }: SignIn,
  state: string,
): Promise<OAuthBegin> {
  const granted = credential?.clear.oauth?.oauthScope?.split(' ').filter((one) => one !== '') ?? []
  const either = {
    freshCredentialId: ids('credential'),
    oauthScope: scopesToAsk(oauth, granted),
    ...(acceptsIssuer ? {} : expectationsOf(oauth)),
  }
  const typed = oauth.clientId === null ? undefined : await store.oauth.client(oauth.clientId)
  if (oauth.grantType === 'client_credentials') {
    if (!typed) throw new SallyportError('row_unreadable')
    return { ...either, grant: 'client_credentials', client: sealed(typed) }
  }
  const registrations = await store.oauth.registrations(connection.scope, registrationsAtMost)
  return {
    ...either,
    grant: 'authorization_code',
    state,
    redirectUri,
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    ...(typed ? { client: sealed(typed) } : {}),
    registrations: registrations.map(sealed),
    freshRegistrationId: ids('oauthClient'),
  }
}

function expectationsOf({
  issuer,
  server,
}: OAuthConnection): Pick<OAuthBegin, 'expectedIssuer' | 'expectedServer'> {
  return {
    ...(issuer === null ? {} : { expectedIssuer: issuer }),
    ...(server === null ? {} : { expectedServer: server }),
  }
}

/** What is required comes first: a server that takes no more of them than so many leaves out another. */
function scopesToAsk(oauth: OAuthConnection, granted: readonly string[]): string[] {
  const { scopeRequired, scopeWanted } = oauth
  return [...new Set([...scopeRequired, ...scopeWanted, ...granted])].slice(0, scopesAtMost)
}

function sealed({ id, scope, version, seal, issuer }: StoredOAuthClient): SealedOAuthClient {
  return { id, scope, version, seal, ...(issuer === null ? {} : { issuer }) }
}

async function settle(
  tx: Tx,
  page: PageDraft,
  begun: {
    readonly flow: OAuthFlow
    readonly target: OAuthTarget & { readonly oauth: OAuthConnection }
    readonly request: OAuthBegin
    readonly answer: OAuthBegun | OAuthGranted
  },
): Promise<void> {
  const { flow, target, request, answer } = begun
  if (answer.kind === 'granted')
    await publishGrant(tx, page, { flow, present: target.credential, granted: answer })
  else {
    page.note(signInEvent('sign_in_begun', target.connection, flow, { at: flow.createdAt }))
    if (answer.registration && request.grant === 'authorization_code') {
      const id = request.freshRegistrationId as OAuthClientId
      await keepRegistration(tx, target.connection, answer.registration, id)
    }
  }
  if (flow.pending !== '') await holdSealKey(tx, flow.pending)
  if (!(await tx.oauth.insertFlow(flow))) throw new SallyportError('conflict')
}
