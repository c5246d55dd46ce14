import { type DenySet, SallyportError, type SessionId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { lockOwnSandbox } from '../sandbox/own-sandbox.ts'
import type { Session } from '../session/session.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { SessionDenial } from './deny-set.ts'
import { confirmDenial } from './session-denials.ts'

/**
 * The launcher of a sandbox, or for class external whoever created the session, says that this set is enforced in it from
 * now on. Throws `not_found`, `not_the_owner`, `session_ended`, `deny_set_mismatch`, and `not_allowed` for a session in which
 * nothing can enforce it.
 */
export function confirmDenySet(
  { store }: Pick<Deps, 'store'>,
  actor: Actor,
  id: SessionId,
  said: Pick<DenySet, 'revision' | 'digest'> & { readonly ownerKey?: string | undefined },
): Promise<SessionDenial> {
  return store.transact(async (tx) => {
    const session = await lockOwn(tx, actor, id, said.ownerKey)
    if (session.state === 'closing' || session.state === 'ended')
      throw new SallyportError('session_ended')
    if (session.isolation === 'none') throw new SallyportError('not_allowed', { field: 'id' })
    return confirmDenial(tx, id, session.isolation === 'external' ? 'word' : 'owner', said)
  })
}

async function lockOwn(
  tx: Tx,
  actor: Actor,
  id: SessionId,
  ownerKey: string | undefined,
): Promise<Session> {
  const { userId, role } = await confirmActor(tx, actor)
  await tx.lockForChange({ sessions: [id] })
  const session = await tx.sessions.get(id)
  const isTheirs = session?.createdBy === userId || role === 'admin'
  if (!session || !isTheirs) throw new SallyportError('not_found', { field: 'id' })
  if (session.isolation !== 'external') await lockOwnSandbox(tx, actor, id, ownerKey ?? '')
  return session
}
