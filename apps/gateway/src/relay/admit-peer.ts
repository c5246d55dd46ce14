/**
 * Who may come in by a session's socket. The file mode keeps other users out; this keeps out every other process of the
 * same user, whatever it knows: of a sandbox that was verified only those within its namespaces.
 */
import type { Socket } from 'node:net'
import type { Reads, Session } from '@sallyport/core'
import type { SandboxEvidence, SessionId } from '@sallyport/protocol'
import { namespacesOf, type PeerProcess, peerProcess } from '@sallyport/protocol/node'
import { isProvedGone } from '../worker/process-identity.ts'

export type AdmitPeer = (id: SessionId, socket: Socket) => Promise<boolean>

/**
 * Asked at every connection, before a byte of it is read. Rejects when it cannot be known: then nobody comes in. What was
 * proved to an earlier gateway (before `since`) has to be proved again.
 */
export function admitPeers(store: Pick<Reads, 'sessions' | 'sandboxes'>, since: number): AdmitPeer {
  return async (id, socket) => {
    const session = await store.sessions.get(id)
    if (session === undefined) return false
    // Its creator has vouched for whoever reaches the socket.
    if (session.isolation === 'external') return true
    const { evidence = null, provedAt = null } = (await store.sandboxes.get(id)) ?? {}
    if (evidence === null || provedAt === null || provedAt < since) return false
    const peer = peerProcess(socket)
    return peer !== undefined && isOfSandbox(session, evidence, peer)
  }
}

function isOfSandbox(
  { isolation }: Session,
  evidence: SandboxEvidence,
  { uid, namespaces }: PeerProcess,
): boolean {
  if (uid !== evidence.uids[0]) return false
  if (isolation === 'none') return true
  return isStillThere(evidence) && evidence.namespaces.every(isIn(namespaces))
}

/** The kernel gives the number of a namespace that has gone to the next one; while its first process lives, it has not. */
function isStillThere({ process: { pid, ...born }, namespaces }: SandboxEvidence): boolean {
  if (isProvedGone({ pid, born })) return false
  try {
    return namespaces.every(isIn(namespacesOf(pid)))
  } catch {
    // It ended meanwhile.
    return false
  }
}

const isIn =
  (found: PeerProcess['namespaces']) =>
  ({ kind, guest }: SandboxEvidence['namespaces'][number]): boolean =>
    found.get(kind) === guest
