import {
  type ConnectionId,
  type CredentialId,
  checkHeaderNames,
  type Origin,
  parseEndpoint,
  SallyportError,
} from '@sallyport/protocol'
import { placeProblem, readSealHeader, type SealPlace } from '@sallyport/protocol/node'
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
  checkOrigin(given.clear, destinations)
}

/** As it is written where it is sealed, where the operator allows, and none of our own listeners. Throws `bad_url`. */
export function checkOrigin({ scheme, host, port }: Origin, destinations: Destinations): void {
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

/** Says as opening would what is wrong with the place of a seal; one for another version of this row is a `conflict`. */
export function checkPlace(seal: string, place: SealPlace): void {
  const problem = placeProblem(readSealHeader(seal).sallyport, place)
  if (problem === undefined) return
  const code = problem === 'seal_other_version' ? 'conflict' : problem
  throw new SallyportError(code, { field: place.kind })
}
