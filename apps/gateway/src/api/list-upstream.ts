import { type Connection, recordHealth } from '@sallyport/core'
import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import type { Listing } from '@sallyport/protocol/node'
import type { ApiDeps } from './api-deps.ts'

/** A listing and what it was asked with: it counts only while that has not moved. */
export interface Listed {
  readonly listing: Listing
  readonly asked: {
    readonly connectionId: Connection['id']
    readonly connectionRevision: number
    readonly credentialId: Connection['credentialId']
    readonly credentialVersion: number | null
  }
}

/** Has the worker list an upstream and notes how that went. Throws what the worker throws, `credential_missing`. */
export async function listUpstream(
  { store, worker, refresher }: Pick<ApiDeps, 'store' | 'worker' | 'refresher'>,
  given: Connection,
  mayRefresh = true,
): Promise<Listed> {
  // Its seals may be others by now: those that were read a while ago may be of a key that is gone.
  const connection = (await store.connections.get(given.id)) ?? given
  const { id, revision, credentialId } = connection
  const credential = credentialId === null ? undefined : await store.credentials.get(credentialId)
  if (credentialId !== null && credential?.state !== 'active')
    throw new SallyportError('credential_missing')
  const asked = {
    connectionId: id,
    connectionRevision: revision,
    credentialId,
    credentialVersion: credential?.version ?? null,
  }
  try {
    const listing = await worker.list(connection, credential)
    await recordHealth(store, { id, revision, code: null })
    return { listing, asked }
  } catch (thrown) {
    const error = toSallyportError(thrown)
    const isOver = error.code === 'upstream_http_401' || error.code === 'credential_expired'
    if (isOver && mayRefresh && credential?.clear.oauth?.refreshable) {
      // A listing changes nothing: it is asked for once more, with the next token.
      const refreshed = await refresher.refresh(credential)
      if (refreshed === 'renewed')
        return listUpstream({ store, worker, refresher }, connection, false)
      // Its health says already that somebody has to sign in, and why.
      if (refreshed === 'unusable') throw error
    }
    await recordHealth(store, { id, revision, code: error.code })
    throw error
  }
}

const otherFailures: readonly ErrorCode[] = [
  'bad_header',
  'bad_schema',
  'bad_secret',
  'bad_url',
  'credential_in_result',
  'destination_refused',
  'local_upstreams_off',
  'too_many_tools',
]

/** A failure of the upstream, or of what was typed about it; not one of ours. */
export function isUpstreamFailure(code: ErrorCode): boolean {
  return /^(?:upstream|seal)_/.test(code) || otherFailures.includes(code)
}
