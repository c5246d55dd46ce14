import { connect, type TLSSocket } from 'node:tls'
import { certificateRole } from '@sallyport/protocol/node'

export type WorkerAddress =
  | { readonly path: string }
  | { readonly host: string; readonly port: number }

/** What this side shows and whom it trusts, PEM. */
export interface Identity {
  readonly certificatePem: string
  readonly privateKeyPem: string
  readonly authorityPem: string
}

/**
 * Dials a worker over mutual TLS. The peer is known by our own authority and the role in its certificate, not by a
 * name. `secureConnect` says nothing yet: in TLS 1.3 it comes before the worker has judged our certificate.
 */
export function dial(address: WorkerAddress, identity: Identity): TLSSocket {
  const socket = connect({
    ...address,
    cert: identity.certificatePem,
    key: identity.privateKeyPem,
    ca: identity.authorityPem,
    minVersion: 'TLSv1.3',
    rejectUnauthorized: true,
    checkServerIdentity: (_host, certificate) =>
      certificateRole(certificate.subjectaltname) === 'worker'
        ? undefined
        : new Error('the peer is not a worker'),
  })
  socket.setNoDelay(true)
  return socket
}
