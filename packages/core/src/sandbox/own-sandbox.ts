import { SallyportError, type SessionId } from '@sallyport/protocol'
import type { Session } from '../session/session.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import { hashToken } from '../user/secret-token.ts'
import type { Actor } from '../user/user.ts'
import type { SessionSandbox } from './session-sandbox.ts'

/**
 * The session, locked, and its sandbox, for the process that owns it. Throws `not_found` for whom the session is not, and
 * for one without a sandbox; `not_the_owner` for another process of the same person.
 */
export async function lockOwnSandbox(
  tx: Tx,
  actor: Actor,
  id: SessionId,
  ownerKey: string,
): Promise<{ readonly session: Session; readonly sandbox: SessionSandbox }> {
  const { userId, role } = await confirmActor(tx, actor)
  await tx.lockForChange({ sessions: [id] })
  const [session, sandbox] = [await tx.sessions.get(id), await tx.sandboxes.get(id)]
  const isTheirs = session?.createdBy === userId || role === 'admin'
  if (!session || !sandbox || !isTheirs) throw new SallyportError('not_found', { field: 'id' })
  if (hashToken(ownerKey) !== sandbox.ownerHash) throw new SallyportError('not_the_owner')
  return { session, sandbox }
}
