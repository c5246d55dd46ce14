import { type DenyEntry, denyHost, SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmAdmin } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { entryKey, operatorSource, unionOf } from './deny-set.ts'

export interface DenyChange {
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

const entriesAtMost = 500

/**
 * What the operator denies beside connections; it is brought into force as every change is. Throws `not_allowed`, and
 * `bad_request` for what is no name, address or network, and for too many.
 */
export function editDenySet(
  { store }: Pick<Deps, 'store'>,
  actor: Actor,
  { add, remove }: DenyChange,
): Promise<void> {
  const added = add.map((text) => parseEntry(text, 'add'))
  const removed = new Set(remove.map((text) => entryKey(parseEntry(text, 'remove'))))
  return store.transact(async (tx) => {
    await confirmAdmin(tx, actor)
    await tx.denials.hold()
    const before = (await tx.denials.sources()).find(({ source }) => source === operatorSource)
    const kept = (before?.entries ?? []).filter((entry) => !removed.has(entryKey(entry)))
    const entries = unionOf([kept, added])
    if (entries.length > entriesAtMost) throw new SallyportError('bad_request', { field: 'add' })
    await tx.denials.putSource({ source: operatorSource, entries, at: await tx.now() })
  })
}

/** `HOST` or `HOST:PORT`; an IPv6 address with a port is in brackets. */
function parseEntry(text: string, field: string): DenyEntry {
  const [, before = text, digits] = /^(.*[^:]|\[.*\]):(\d{1,5})$/.exec(text) ?? []
  const isBareSix = digits !== undefined && before.includes(':') && !before.startsWith('[')
  const host = denyHost(isBareSix ? text : before)
  const port = digits === undefined || isBareSix ? null : Number(digits)
  if (host === undefined || (port !== null && (port < 1 || port > 65_535)))
    throw new SallyportError('bad_request', { field })
  return { host, port }
}
