import type { OAuthFlowId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { type Living, livingInstances } from './living-instances.ts'
import type { OAuthFlow } from './oauth.ts'
import { closeFlow } from './publish-grant.ts'
import { signInEvent } from './sign-in-event.ts'

/** What a gateway has for the end of a sign-in, from the browser's return on; then it has surely given up. */
const finishMs = 120_000

/**
 * Ends sign-ins that nobody will end: those whose person did not come back in time, and those whose gateway is gone in the
 * middle. Whoever waits for one is told that it is over, and begins again. `onFailure` hears of one that could not be
 * ended now.
 */
export async function endLeftSignIns(
  { store, journal }: Pick<Deps, 'store' | 'journal'>,
  onFailure: (id: OAuthFlowId, error: unknown) => void,
): Promise<void> {
  const open = await store.oauth.openFlows()
  if (open.length === 0) return
  const living = await livingInstances(store)
  for (const { id } of open.filter((flow) => isLeft(flow, living))) {
    try {
      await endLeft(journal, id, living)
    } catch (error) {
      onFailure(id, error)
    }
  }
}

function endLeft(journal: Deps['journal'], id: OAuthFlowId, living: Living): Promise<void> {
  return journal.transact(async (tx, page) => {
    const flow = await tx.oauth.flow(id)
    if (!flow || !isLeft(flow, living)) return
    const end = { state: 'failed', code: 'oauth_flow_over', account: null } as const
    if (!(await closeFlow(tx, id, end))) return
    const kind = flow.state === 'waiting' ? 'sign_in_abandoned' : 'sign_in_interrupted'
    const connection = await tx.connections.get(flow.connectionId)
    if (connection) page.note(signInEvent(kind, connection, flow, { at: await tx.now() }))
  })
}

function isLeft({ state, finisher, expiresAt }: OAuthFlow, { now, instances }: Living): boolean {
  if (state === 'waiting') return expiresAt <= now
  return finisher === null || !instances.has(finisher) || expiresAt + finishMs <= now
}
