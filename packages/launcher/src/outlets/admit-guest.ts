/** Who may come in by a session's sockets that the launcher serves: as the gateway's, only what is within its sandbox (decision 008). */
import type { Socket } from 'node:net'
import type { SandboxEvidence } from '@sallyport/protocol'
import { namespacesOf, type PeerProcess, peerProcess } from '@sallyport/protocol/node'
import { fateOf } from '../process/fate.ts'

export type Admits = (socket: Socket) => boolean

/** Nobody until the guest is known, and nobody once its first process has ended. */
export class GuestDoor {
  #evidence: SandboxEvidence | undefined

  /** The sandbox was looked at, and is as planned. */
  openFor(evidence: SandboxEvidence): void {
    this.#evidence = evidence
  }

  readonly admits: Admits = (socket) => {
    const evidence = this.#evidence
    if (!evidence || evidence.isolation === 'none') return false
    try {
      const peer = peerProcess(socket)
      return peer !== undefined && isWithin(evidence, peer)
    } catch {
      // Where this system cannot tell who it is, it is nobody.
      return false
    }
  }
}

function isWithin(evidence: SandboxEvidence, { uid, namespaces }: PeerProcess): boolean {
  if (uid !== evidence.uids[0] || fateOf(evidence.process) !== 'running') return false
  // The kernel gives the number of a namespace that has gone to the next one; while its first process lives, it has not.
  const own = namespacesOf(evidence.process.pid)
  return evidence.namespaces.every(
    ({ kind, guest }) => own.get(kind) === guest && namespaces.get(kind) === guest,
  )
}
