import { isId, SallyportError } from '@sallyport/protocol'
import { isPersonal } from '../approval/is-personal.ts'
import type { Deps } from '../deps.ts'
import { settledEvent } from '../journal/events.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { toldEvent } from '../webhook/told-event.ts'
import type { Execution, Resolution } from './execution.ts'
import type { Settlement } from './execution-store.ts'

export interface ResolutionInput {
  readonly outcome: Resolution['outcome']
  readonly note: string
  /** Identical calls are not answered with it: they run, if they are approved. */
  readonly allowRetry: boolean
}

/**
 * A person says what became of a call whose outcome is unknown. Its owner, or an administrator where the connection is
 * nobody's own; for others it is `not_found`. Throws `not_unknown`, and `bad_request` for a retry of what was applied.
 */
export function resolveExecution(
  { journal }: Pick<Deps, 'journal'>,
  actor: Actor,
  id: string,
  input: ResolutionInput,
): Promise<Execution> {
  return journal.transact(async (tx, page) => {
    const { userId, role } = await confirmActor(tx, actor)
    const row = await hold(tx, { userId, role }, id)
    if (row.state !== 'unknown') throw new SallyportError('not_unknown')
    const { outcome, note, allowRetry } = input
    if (outcome === 'applied' && allowRetry)
      throw new SallyportError('bad_request', { field: 'allowRetry' })
    const at = await tx.now()
    const resolution: Resolution = { outcome, by: userId, note, at, allowRetry }
    const settlement: Settlement = {
      id: row.id,
      from: ['unknown'],
      state: 'resolved',
      code: null,
      finishedAt: row.finishedAt,
      at,
      caller: allowRetry ? null : 'detached',
      resolution,
    }
    const [sequence] = await tx.executions.settle([settlement])
    if (sequence === undefined) throw new SallyportError('not_unknown')
    page.note(
      settledEvent({ ...settlement, notes: { outcome, by: userId, note, allowRetry } }, sequence),
    )
    page.tell(toldEvent('execution.resolved', at, row))
    await tx.announce([row.id])
    return {
      ...row,
      state: 'resolved',
      code: null,
      caller: settlement.caller ?? null,
      resolution,
      sequence,
    }
  })
}

async function hold(tx: Tx, { userId, role }: Actor, id: string): Promise<Execution> {
  const row = isId('execution', id) ? (await tx.executions.lock([id])).get(id) : undefined
  const isTheirs = row?.ownerId === userId
  if (!row || !(isTheirs || (role === 'admin' && !(await isPersonal(tx, row)))))
    throw new SallyportError('not_found', { field: 'id' })
  return row
}
