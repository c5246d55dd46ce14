import type { UserId } from '@sallyport/protocol'
import type { Actor } from '../user/user.ts'
import type { Scope } from './connection.ts'

export const orgScope = 'org' as Scope

export function personalScope(ownerId: UserId): Scope {
  return `personal:${ownerId}` as Scope
}

/** What a person writes (`org`, `personal`, `project:<name>`) as the scope of a row; `personal` is the actor's own. */
export function scopeOf(written: string, actor: Actor): Scope {
  return written === 'personal' ? personalScope(actor.userId) : (written as Scope)
}

export type ScopeKind = 'org' | 'project' | 'personal'

export function scopeKind(scope: Scope): ScopeKind {
  if (scope === orgScope) return 'org'
  return scope.startsWith('project:') ? 'project' : 'personal'
}

/** Within one session the wider scope takes the name. */
export const scopeRank: Record<ScopeKind, number> = { org: 0, project: 1, personal: 2 }
