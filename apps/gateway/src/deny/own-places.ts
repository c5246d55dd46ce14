/** Where this gateway itself is reached: no guest has anything to look for there beside its own way in. */
import { entryOf } from '@sallyport/core'
import type { DenyEntry } from '@sallyport/protocol'
import type { Listener } from '../start/listeners.ts'

type Bound = Pick<Listener, 'addresses' | 'port'>

export function ownPlaces(listeners: readonly Bound[], publicUrl: string | undefined): DenyEntry[] {
  const bound = listeners.flatMap(({ addresses, port }) =>
    addresses.map((host) => entryOf({ host, port })),
  )
  if (publicUrl === undefined) return bound
  const { hostname, port, protocol } = new URL(publicUrl)
  const usual = protocol === 'http:' ? 80 : 443
  return [...bound, entryOf({ host: hostname, port: Number(port || usual) })]
}
