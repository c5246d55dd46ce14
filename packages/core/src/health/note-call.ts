import type { ConnectionId } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'
import { recordHealth } from '../connection/record-health.ts'
import type { Store } from '../store.ts'

/** Of a call: the upstream could not be reached at all. What it answered, and what it took too long for, says less. */
const unreached = [
  'upstream_dns',
  'upstream_blocked_address',
  'upstream_tls',
  'upstream_timeout',
  'upstream_unreachable',
] as const

/** Does the outcome of a call say something about how its connection is? Asked of every call. */
export function isAboutHealth({ verdict, code }: Pick<ResultHead, 'verdict' | 'code'>): boolean {
  if (code === undefined) return false
  return code === 'upstream_unauthorized' || (verdict === 'not_sent' && isUnreached(code))
}

/** Notes it as a listing would; a token that is not taken is renewed instead, and that tells. */
export async function noteCall(
  store: Store,
  id: ConnectionId,
  { code }: Pick<ResultHead, 'code'>,
): Promise<void> {
  const connection = await store.connections.get(id)
  if (!connection || code === undefined) return
  const { revision } = connection
  if (isUnreached(code)) return recordHealth(store, { id, revision, code })
  if (await store.oauth.connection(id)) return
  await recordHealth(store, { id, revision, code: 'upstream_http_401' })
}

type Unreached = (typeof unreached)[number]
const isUnreached = (code: string): code is Unreached => unreached.some((one) => one === code)
