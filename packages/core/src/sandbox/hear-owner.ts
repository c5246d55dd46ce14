import type { SessionId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import type { Session } from '../session/session.ts'
import type { Actor } from '../user/user.ts'
import { lockOwnSandbox } from './own-sandbox.ts'
import { silenceMs } from './session-sandbox.ts'

export interface HeardOwner {
  readonly session: Session
  /** It has to show evidence again before it counts as heard. */
  readonly prove: boolean
  /** The revision of what its guest is denied now. */
  readonly denySet: number
}

/**
 * The owner of a sandbox says that it is there. It proves itself again when it was not heard for too long, and to a gateway
 * that has begun (`since`) after the last proof. Throws `not_found`, `not_the_owner`.
 */
export function hearOwner(
  { store }: Pick<Deps, 'store'>,
  actor: Actor,
  id: SessionId,
  { ownerKey, since }: { readonly ownerKey: string; readonly since: number },
): Promise<HeardOwner> {
  return store.transact(
    async (tx) => {
      const { session, sandbox } = await lockOwnSandbox(tx, actor, id, ownerKey)
      const denySet = (await tx.denials.newest())?.revision ?? 0
      if (session.state === 'closing' || session.state === 'ended')
        return { session, prove: false, denySet }
      const now = await tx.now()
      const isProved = (sandbox.provedAt ?? 0) >= since && now - sandbox.seenAt <= silenceMs
      const prove = session.state === 'open' && !isProved
      if (!prove) await tx.sandboxes.see(id, now)
      return { session, prove, denySet }
    },
    // What is lost with the machine is lost with the owner too.
    { flush: 'later' },
  )
}
