import type { ConnectionId, ErrorCode } from '@sallyport/protocol'
import type { Store } from '../store.ts'
import type { Health } from './connection.ts'

/**
 * Notes what an attempt to reach the upstream found; `code` null when it went well. Nothing is written for a failure
 * that is not the upstream's, when nothing changed, or when the connection was edited since the attempt began.
 */
export function recordHealth(
  store: Store,
  attempt: {
    readonly id: ConnectionId
    readonly revision: number
    readonly code: ErrorCode | null
  },
): Promise<void> {
  return store.transact(async (tx) => {
    const before = await tx.connections.get(attempt.id)
    const state = healthState(attempt.code)
    if (!before || !state || before.state === 'deleted' || before.revision !== attempt.revision)
      return
    if (before.health.state === state && before.health.code === attempt.code) return
    const now = await tx.now()
    const health: Health = { state, code: attempt.code, at: now }
    const after = { ...before, health, version: before.version + 1, updatedAt: now }
    // A change in the meantime goes first; the next attempt notes it again.
    await tx.connections.update(after, before.version)
  })
}

function healthState(code: ErrorCode | null): Health['state'] | undefined {
  switch (code) {
    case null:
      return 'ok'
    case 'upstream_http_401':
    case 'upstream_http_403':
      return 'unauthorized'
    case 'destination_refused':
    case 'bad_url':
    case 'bad_secret':
    case 'bad_header':
      return 'seal'
    default:
      if (code.startsWith('seal_')) return 'seal'
      return code.startsWith('upstream_') ? 'unreachable' : undefined
  }
}
