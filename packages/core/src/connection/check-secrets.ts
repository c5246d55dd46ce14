import {
  type ConnectionId,
  type CredentialId,
  checkHeaderNames,
  type Origin,
  parseEndpoint,
  SallyportError,
} from '@sallyport/protocol'
import { readSealHeader, type SealPlace } from '@sallyport/protocol/node'
import type { Scope } from './connection.ts'

export interface GivenEndpoint {
  readonly seal: string
  readonly clear: Origin
}

export interface GivenCredential {
  readonly id: CredentialId
  readonly seal: string
  readonly clear: { readonly bearer: boolean; readonly headerNames: readonly string[] }
}

/** What the operator says about destinations. */
export interface Destinations {
  /** May plain http toward this machine pass? */
  readonly localAllowed: boolean
  /** Is this one of our own listeners? */
  isOwn(origin: Origin): boolean
}

/** What can be judged without opening: the row the seal is for, and the origin beside it. */
export function checkEndpoint(
  given: GivenEndpoint,
  row: { readonly id: ConnectionId; readonly scope: Scope; readonly revision: number },
  destinations: Destinations,
): void {
  checkPlace(given.seal, {
    kind: 'endpoint',
    id: row.id,
    scope: row.scope,
    version: row.revision,
  })
  const { scheme, host, port } = given.clear
  const parsed = parseEndpoint(`${scheme}://${host}:${port}/`, destinations.localAllowed)
  const same = parsed.scheme === scheme && parsed.host === host && parsed.port === port
  if (!same || destinations.isOwn(parsed)) throw new SallyportError('bad_url', { field: 'url' })
}

export function checkCredential(given: GivenCredential, scope: Scope, version: number): void {
  checkPlace(given.seal, { kind: 'credential', id: given.id, scope, version })
  const { bearer, headerNames } = given.clear
  checkHeaderNames(headerNames, bearer)
  if (!bearer && headerNames.length === 0)
    throw new SallyportError('bad_secret', { field: 'credential' })
}

/** A seal for another row says `seal_mismatch`; one for another version of this row, `conflict`. */
function checkPlace(seal: string, place: SealPlace): void {
  const named = readSealHeader(seal).sallyport
  const sameRow = named.kind === place.kind && named.id === place.id && named.scope === place.scope
  if (!sameRow) throw new SallyportError('seal_mismatch', { field: place.kind })
  if (named.version !== place.version) throw new SallyportError('conflict', { field: place.kind })
}
