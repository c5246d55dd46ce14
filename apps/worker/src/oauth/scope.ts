/** OAuth's scope: a set, written as a list with spaces. */
const token = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/
const mostScopes = 256

/** Not a right to anything of the resource: it asks for a refresh token. */
const offline = 'offline_access'

/** The scopes of a text, each once, without what is no scope; undefined when there is none. */
export function readScope(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  return writeScope(text.split(' '))
}

export function writeScope(scopes: readonly string[]): string | undefined {
  const known = [...new Set(scopes.filter((one) => token.test(one)))].slice(0, mostScopes)
  return known.length === 0 ? undefined : known.join(' ')
}

export interface ScopeSources {
  /** Of the challenge: what this server wants now. */
  readonly challenged: string | undefined
  /** `scopes_supported` of the protected resource. */
  readonly ofResource: readonly string[] | undefined
  /** `scopes_supported` of the authorization server. */
  readonly ofServer: readonly string[] | undefined
  /** Granted before, or demanded by a refusal. */
  readonly wanted: readonly string[]
}

/**
 * What to ask for: the challenge, else what the resource supports, else nothing, and what is wanted beside it.
 * `offline_access` joins what is asked for when the authorization server knows it; alone it would replace the
 * server's own choice by no rights at all.
 */
export function selectScope(sources: ScopeSources, isOffline: boolean): string | undefined {
  const { challenged, ofResource = [], ofServer = [], wanted } = sources
  const asked = challenged === undefined ? ofResource : challenged.split(' ')
  const scopes = [...asked, ...wanted]
  if (scopes.length === 0) return undefined
  if (isOffline && ofServer.includes(offline)) scopes.push(offline)
  return writeScope(scopes)
}

/** True when `scope` names a right that `agreed` does not. */
export function isWider(scope: string, agreed: string): boolean {
  const known = new Set(agreed.split(' '))
  return scope.split(' ').some((one) => one !== offline && !known.has(one))
}
