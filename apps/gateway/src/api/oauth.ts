/** Sign-ins, as the API begins and shows them. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Actor,
  beginSignIn,
  checkMayManage,
  disconnect,
  type EndedGrant,
  findConnection,
  type OAuthFlow,
  revokeAtProvider,
} from '@sallyport/core'
import { type Answer, type OAuthFlowId, SallyportError } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { callbackPath, clientMetadataUrl } from './oauth-pages.ts'
import { viewConnection } from './view-connection.ts'
import { viewTime } from './view-time.ts'

type OAuthHandlers = Pick<
  HandlersOf<'connection'>,
  'connection.authorize' | 'connection.authorization' | 'connection.disconnect'
>

export function oauthHandlers(deps: ApiDeps): OAuthHandlers {
  const { store, worker } = deps
  const manage = async (actor: Actor, name: string) =>
    checkMayManage(actor, await findConnection(store, actor, name))
  return {
    'connection.authorize': async ({ actor, params, body }) => {
      const { id, name } = await manage(actor, params.name)
      const signIn = {
        redirectUri: `${deps.publicUrl()}${callbackPath}`,
        clientMetadataUrl: clientMetadataUrl(deps.publicUrl()),
        acceptsIssuer: body.acceptIssuer === true,
      }
      const { flow, authorizeUrl } = await beginSignIn(deps, actor, id, signIn)
      if (flow.state === 'done') worker.release(id)
      return viewFlow(name, flow, authorizeUrl)
    },
    'connection.authorization': async ({ actor, params }) => {
      const { id, name } = await manage(actor, params.name)
      const flow = await store.oauth.flow(params.id as OAuthFlowId)
      if (flow?.connectionId !== id) throw new SallyportError('not_found', { field: 'id' })
      return viewFlow(name, flow, null)
    },
    'connection.disconnect': async ({ actor, params }) => {
      const { id } = await findConnection(store, actor, params.name)
      const { connection, ended } = await disconnect(deps, actor, id)
      worker.release(id)
      const revocation = ended ? await askForRevocation(deps, ended) : null
      return { ...(await viewConnection(deps, actor, connection)), revocation }
    },
  }
}

const revocationMs = 5_000

/** Whoever disconnects does not wait for a slow server: the journal tells what came of it. */
async function askForRevocation(
  deps: ApiDeps,
  { connection, credential }: EndedGrant,
): Promise<NonNullable<Answer<'connection.disconnect'>['revocation']>> {
  const asked = revokeAtProvider(deps, connection, credential).catch((error: unknown) => {
    deps.log.error({ connection: connection.id, error: String(error) }, 'revocation not recorded')
    return 'failed' as const
  })
  const late = new AbortController()
  const tooLate = sleep(revocationMs, 'asked' as const, { ref: false, signal: late.signal })
  const answer = await Promise.race([asked, tooLate.catch(() => 'asked' as const)])
  late.abort()
  return answer
}

function viewFlow(
  connection: string,
  { id, state, issuer, code, account, expiresAt }: OAuthFlow,
  authorizeUrl: string | null,
): Answer<'connection.authorize'> {
  const at = viewTime(expiresAt)
  return { id, state, connection, authorizeUrl, issuer, code, account, expiresAt: at }
}
