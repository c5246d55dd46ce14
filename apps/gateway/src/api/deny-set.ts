import {
  coversAll,
  editDenySet,
  newestDenySet,
  operatorSource,
  type SessionDenial,
} from '@sallyport/core'
import type { Answer, DenySet } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTimeOrNull } from './view-time.ts'

export function denySetHandlers(deps: ApiDeps): HandlersOf<'denySet'> {
  const { store, denySets } = deps
  const show = async (): Promise<Answer<'denySet.show'>> => {
    const newest = await newestDenySet(store)
    const published = await store.denials.published()
    const operator = (await store.denials.sources()).find(({ source }) => source === operatorSource)
    return {
      ...viewDenySet(newest),
      inForce: published?.revision ?? 0,
      pending: newest.entries.filter((entry) => !coversAll(published, [entry])),
      operator: [...(operator?.entries ?? [])],
    }
  }
  return {
    'denySet.show': show,
    'denySet.edit': async ({ actor, body }) => {
      await editDenySet(deps, actor, body)
      await denySets.settle()
      return show()
    },
  }
}

export function viewDenySet({ revision, digest, entries }: DenySet): Answer<'session.denySet'> {
  return { revision, digest, entries: [...entries] }
}

/** `isKept`: from everything that is in force. */
export function viewDenial(
  { confirmed, confirmedAt }: SessionDenial,
  revision: number,
  isKept: boolean,
): Answer<'session.confirmDenySet'> {
  const directAccess = isKept ? 'denied' : 'not_denied'
  return { revision, confirmed, confirmedAt: viewTimeOrNull(confirmedAt), directAccess }
}
