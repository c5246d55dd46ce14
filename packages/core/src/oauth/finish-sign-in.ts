import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import { digestBytes, type OAuthFinish, type OAuthGranted } from '@sallyport/protocol/node'
import { checkMayManage } from '../connection/connection-access.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import { type OAuthDeps, oauthTarget } from './begin-sign-in.ts'
import { type EndedGrant, unusedGrant } from './ended-grant.ts'
import type { OAuthFlow } from './oauth.ts'
import type { OAuthTarget } from './oauth-worker.ts'
import { closeFlow, publishGrant } from './publish-grant.ts'
import { signInEvent } from './sign-in-event.ts'

/** What the browser brought back. */
export type BroughtBack = Pick<OAuthFinish, 'state' | 'code' | 'error' | 'iss'>

/**
 * Ends the sign-in of this state. Undefined, always the same, for a state that is absent, used or over, and for one whose
 * person or connection is not what it was. Otherwise how it ended.
 */
export async function finishSignIn(
  deps: OAuthDeps,
  brought: BroughtBack,
): Promise<OAuthFlow | undefined> {
  const { store, journal, instance } = deps
  const flow = await journal.transact(async (tx, page) => {
    const taken = await tx.oauth.takeFlow(digestBytes(brought.state), await tx.now(), instance)
    if (!taken || (await isStillAllowed(tx, taken))) return taken
    await refuse(tx, page, taken, { code: 'oauth_flow_over' })
    return undefined
  })
  if (!flow) return undefined
  const refused = await redeem(deps, flow, brought)
  if (refused) await journal.transact((tx, page) => refuse(tx, page, flow, refused))
  return store.oauth.flow(flow.id)
}

interface Refusal {
  readonly code: ErrorCode
  /** It was given all the same, and nobody here will use it. */
  readonly unused?: EndedGrant | undefined
}

async function redeem(
  deps: OAuthDeps,
  flow: OAuthFlow,
  brought: BroughtBack,
): Promise<Refusal | undefined> {
  const { store, oauth, journal } = deps
  let given: { readonly target: OAuthTarget; readonly granted: OAuthGranted } | undefined
  try {
    const target = await oauthTarget(store, flow.connectionId)
    const granted = await oauth.finish(target, { ...brought, pending: flow.pending })
    given = { target, granted }
    await journal.transact(async (tx, page) => {
      const end = { state: 'done', code: null, account: granted.account } as const
      // First, because whoever found it left and ended it is believed.
      const isOurs = (await isStillAllowed(tx, flow)) && (await closeFlow(tx, flow.id, end))
      if (!isOurs) throw new SallyportError('oauth_flow_over')
      await publishGrant(tx, page, { flow, present: target.credential, granted })
    })
    return undefined
  } catch (thrown) {
    const { code } = toSallyportError(thrown)
    return given
      ? { code, unused: unusedGrant(given.target, given.granted, flow.createdAt) }
      : { code }
  }
}

async function refuse(
  tx: Tx,
  page: PageDraft,
  flow: OAuthFlow,
  { code, unused }: Refusal,
): Promise<void> {
  const isClosed = await closeFlow(tx, flow.id, { state: 'failed', code, account: null })
  // A commit whose end was unclear may have published it.
  if ((await tx.oauth.flow(flow.id))?.state !== 'done') page.end(unused)
  if (!isClosed) return
  const connection = await tx.connections.get(flow.connectionId)
  if (connection)
    page.note(signInEvent('sign_in_refused', connection, flow, { at: await tx.now(), code }))
}

/** The person who began it may still manage the connection, which is the same one. */
async function isStillAllowed(tx: Tx, flow: OAuthFlow): Promise<boolean> {
  const user = await tx.users.get(flow.userId)
  const connection = await tx.connections.get(flow.connectionId)
  if (!user || connection?.revision !== flow.connectionRevision) return false
  try {
    const actor = await confirmActor(tx, { userId: user.id, role: user.role })
    checkMayManage(actor, connection)
    return true
  } catch (thrown) {
    if (thrown instanceof SallyportError && isRefusal(thrown)) return false
    throw thrown
  }
}

const isRefusal = ({ code }: SallyportError): boolean =>
  code === 'not_allowed' || code === 'not_found'
