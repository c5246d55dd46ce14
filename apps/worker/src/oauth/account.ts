/** Whose grant it is, as far as an authorization server says; and whether two grants are of one account. */
import type { AccountFinding, OAuthAccount } from '@sallyport/protocol/node'
import type { Document } from './read-document.ts'

/** Names of one user. */
const userIds = ['sub', 'account_id', 'user_id'] as const
/** Names of what many users share: another one is another account, the same one proves nothing. */
const groupIds = ['workspace_id', 'organization_id', 'tenant_id', 'team_id'] as const
const labels = ['email', 'preferred_username', 'username', 'login', 'name'] as const

const longestId = 256
const longestLabel = 128

/** Of claims (an id token, user info) and of members of a token answer; undefined when they name nobody. */
export function accountOf(...sources: readonly Document[]): OAuthAccount | undefined {
  const ids: Record<string, string> = {}
  for (const name of [...userIds, ...groupIds]) {
    const id = firstOf(sources, name, longestId)
    if (id !== undefined) ids[name] = id
  }
  const label = labels
    .map((name) => firstOf(sources, name, longestLabel))
    .find((text) => text !== undefined && !/\p{Cc}/u.test(text) && text.isWellFormed())
  if (Object.keys(ids).length === 0 && label === undefined) return undefined
  return { ids, ...(label === undefined ? {} : { label }) }
}

/** Whatever both name must be the same; only an id of a user proves that it is the same account. */
export function compareAccounts(
  before: OAuthAccount | undefined,
  now: OAuthAccount | undefined,
): Exclude<AccountFinding, 'first'> {
  const [one, other] = [before?.ids ?? {}, now?.ids ?? {}]
  const common = Object.keys(one).filter((name) => Object.hasOwn(other, name))
  if (common.some((name) => one[name] !== other[name])) return 'other'
  return common.some((name) => userIds.some((id) => id === name)) ? 'same' : 'unproved'
}

/** What an answer leaves out stays as it was. */
export function mergeAccounts(
  before: OAuthAccount | undefined,
  now: OAuthAccount | undefined,
): OAuthAccount | undefined {
  if (!before || !now) return before ?? now
  return { ...before, ...now, ids: { ...before.ids, ...now.ids } }
}

function firstOf(sources: readonly Document[], name: string, longest: number): string | undefined {
  for (const source of sources) {
    const value = Object.hasOwn(source, name) ? source[name] : undefined
    const text = Number.isSafeInteger(value) ? String(value) : value
    if (typeof text === 'string' && text !== '' && text.length <= longest) return text
  }
  return undefined
}
