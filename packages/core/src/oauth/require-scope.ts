import type { ConnectionId } from '@sallyport/protocol'
import type { Tx } from '../store.ts'
import type { OAuthConnection } from './oauth.ts'

/** As many as one sign-in may ask for. */
export const scopesAtMost = 64

/**
 * The MCP server refused a call for want of these scopes: a person has to grant them, and the next sign-in asks for them
 * beside those that are granted. Nothing happens for a connection without OAuth.
 */
export async function requireScope(tx: Tx, id: ConnectionId, scope: string): Promise<void> {
  const seen = await tx.oauth.connection(id)
  if (!seen || missingIn(seen, scope).length === 0) return
  await tx.lockForChange({ connections: [id] })
  const before = await tx.oauth.connection(id)
  if (!before) return
  const all = [...before.scopeRequired, ...missingIn(before, scope)]
  await tx.oauth.putConnection({ ...before, scopeRequired: all.slice(0, scopesAtMost) })
}

function missingIn({ scopeRequired }: OAuthConnection, scope: string): string[] {
  return scope.split(' ').filter((one) => one !== '' && !scopeRequired.includes(one))
}

/** What is still missing after a sign-in; a server that names no scopes gave what it was asked for. */
export function stillRequired(
  { scopeRequired }: Pick<OAuthConnection, 'scopeRequired'>,
  granted: string | undefined,
): readonly string[] {
  if (granted === undefined) return []
  const given = granted.split(' ')
  return scopeRequired.filter((one) => !given.includes(one))
}
