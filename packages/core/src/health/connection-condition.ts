/** The state of a connection as a person understands it, from what is recorded. */
import type { connectionConditions, ErrorCode } from '@sallyport/protocol'
import type { Connection, Observation } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { OAuthConnection } from '../oauth/oauth.ts'

export type ConditionName = (typeof connectionConditions)[number]

export interface ConnectionCondition {
  readonly condition: ConditionName
  /** Which failure, where there was one. */
  readonly code: ErrorCode | null
}

/** What is recorded of a connection. */
export interface RecordedHealth {
  readonly connection: Connection
  readonly credential: Credential | undefined
  readonly oauth: OAuthConnection | undefined
  readonly observation: Observation | undefined
  /** Of the published catalog. */
  readonly publishedDigest: string | undefined
}

const soonMs = 24 * 3_600_000

/** The first thing that a person would have to do something about. */
export function conditionOf(recorded: RecordedHealth, now: number): ConnectionCondition {
  const { connection, credential, oauth } = recorded
  const { code } = connection.health
  const of = (condition: ConditionName, why: ErrorCode | null = code): ConnectionCondition => ({
    condition,
    code: why,
  })
  if (credential?.state === 'revoked') return of('revoked', null)
  if (credential?.state === 'broken')
    return of(code === 'account_changed' ? 'changed_account' : 'needs_sign_in')
  if (oauth && credential === undefined) return of('needs_sign_in', null)
  const ended = endOf(credential, now)
  if (ended) return of(ended, null)
  switch (connection.health.state) {
    case 'unauthorized':
      return of(oauth ? 'needs_sign_in' : 'unauthorized')
    case 'ok':
    case 'drift':
      if (hasDrifted(recorded)) return of('drift', null)
      return oauth && oauth.scopeRequired.length > 0
        ? of('needs_sign_in', 'upstream_scope_missing')
        : of('ok', null)
    default:
      return of(connection.health.state)
  }
}

/** Only a token that nothing renews ends. */
function endOf(credential: Credential | undefined, now: number): ConditionName | undefined {
  const { oauth } = credential?.clear ?? {}
  if (!oauth || oauth.refreshable || oauth.expiresAt === undefined) return undefined
  if (oauth.expiresAt <= now) return 'needs_sign_in'
  return oauth.expiresAt <= now + soonMs ? 'expiring' : undefined
}

/** The newest listing is not what was published. */
export function hasDrifted({
  connection,
  observation,
  publishedDigest,
}: Pick<RecordedHealth, 'connection' | 'observation' | 'publishedDigest'>): boolean {
  if (observation?.connectionRevision !== connection.revision) return false
  return publishedDigest !== undefined && publishedDigest !== observation.digest
}
