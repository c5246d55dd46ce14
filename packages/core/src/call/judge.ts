/** Whether current authority still lets a bound tool be called. Snapshot AND current: later changes narrow, never widen. */
import type { ErrorCode } from '@sallyport/protocol'
import type { Binding } from '../binding/binding.ts'
import type { Session } from '../session/session.ts'
import type { Pause } from '../setting/pause.ts'
import type { Authority, AuthorityRefs } from '../store.ts'

/** A binding of a session, to be judged. */
export interface BoundCall {
  readonly binding: Binding
  readonly session: Pick<Session, 'id' | 'profileId'>
}

/** The rows that decide about these, each once. */
export function authorityRefs(judged: readonly BoundCall[]): AuthorityRefs {
  const each = <T>(pick: (item: BoundCall) => T | null): T[] => [
    ...new Set(judged.map(pick).filter((value) => value !== null)),
  ]
  return {
    connections: each(({ binding }) => binding.connectionId),
    credentials: each(({ binding }) => binding.credentialId),
    catalogs: each(({ binding }) => binding.catalogId),
    profiles: each(({ session }) => session.profileId),
    grants: each(({ binding }) => binding.grantId),
    sessions: each(({ session }) => session.id),
  }
}

/** The code of the first reason why it may not be called, or undefined. The pause and rates are not looked at. */
export function judge(
  { binding, session }: BoundCall,
  authority: Authority,
): ErrorCode | undefined {
  if (authority.busy.size > 0 && isBusy({ binding, session }, authority)) return 'authority_busy'
  return (
    judgeSession(authority.sessions.get(session.id), authority.now) ??
    judgeConnection(binding, authority) ??
    judgeCatalog(binding, authority) ??
    judgePermission(binding, session.profileId, authority)
  )
}

function isBusy(call: BoundCall, { busy }: Authority): boolean {
  const kinds: (readonly string[])[] = Object.values(authorityRefs([call]))
  return kinds.some((ids) => ids.some((id) => busy.has(id)))
}

/** Only an open session that is neither too old nor idle for too long may call. */
export function judgeSession(session: Session | undefined, now: number): ErrorCode | undefined {
  if (session?.state !== 'open') return 'session_not_open'
  if (now >= session.expiresAt || now >= session.lastCallAt + session.idleMs)
    return 'session_not_open'
  return undefined
}

function judgeConnection(binding: Binding, authority: Authority): ErrorCode | undefined {
  const connection = authority.connections.get(binding.connectionId)
  if (connection?.state !== 'enabled') return 'connection_disabled'
  if (connection.revision !== binding.connectionRevision) return 'connection_changed'
  if (connection.credentialId !== binding.credentialId) return 'connection_changed'
  if (binding.credentialId === null) return undefined
  return authority.credentials.get(binding.credentialId)?.state === 'active'
    ? undefined
    : 'credential_unusable'
}

function judgeCatalog(binding: Binding, authority: Authority): ErrorCode | undefined {
  const state = authority.catalogs.get(binding.catalogId)?.state
  return state === 'published' || state === 'superseded' ? undefined : 'catalog_withdrawn'
}

function judgePermission(
  binding: Binding,
  profileId: Session['profileId'],
  authority: Authority,
): ErrorCode | undefined {
  if (authority.profiles.get(profileId)?.state !== 'active') return 'profile_changed'
  const grant = authority.grants.get(binding.grantId)
  const unchanged = grant && grant.revokedAt === null && grant.digest === binding.grantDigest
  return unchanged ? undefined : 'grant_changed'
}

export function judgePause(authority: Authority, access: Binding['access']): ErrorCode | undefined {
  if (authority.busy.has('pause')) return 'authority_busy'
  if (!authority.pause) return undefined
  const pause = authority.pause.value as Pause
  return access === 'write' || !pause.writesOnly ? 'paused' : undefined
}
