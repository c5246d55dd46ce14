/** Moving callers: one guarded statement, because every answer that is written moves one. */
import type { CallerChange } from '@sallyport/core'
import type { Scalar } from '../rows/column.ts'
import type { Swap } from './driver.ts'

/** `callers` are the states it may be in, each between blanks. */
export const callerSwap: Swap = {
  name: 'executions',
  columns: ['id', 'callers', 'holder', 'moved_to', 'moved_by', 'modern', 'moved_at'],
  types: ['text', 'text', 'text', 'text', 'text', 'integer', 'integer'],
  set: `caller = given.moved_to, caller_instance = given.moved_by,
    is_modern = COALESCE(given.modern, is_modern), collected_at = given.moved_at`,
  guard: `given.callers LIKE '% ' || caller || ' %'
    AND (given.holder IS NULL OR caller_instance = given.holder)
    AND NOT (state = 'unknown' AND given.moved_to = 'collected')`,
}

export function keepChange({ id, from, of, to, by, isModern, at }: CallerChange): Scalar[] {
  const modern = isModern === undefined ? null : Number(isModern)
  const collectedAt = to === 'collected' ? (at ?? null) : null
  return [id, ` ${from.join(' ')} `, of ?? null, to, by, modern, collectedAt]
}

export interface Placed {
  readonly change: CallerChange
  readonly place: number
}

/** No round has two changes of one row, and of those the earlier comes in the earlier round. */
export function inRounds(changes: readonly CallerChange[]): Placed[][] {
  const rounds: Placed[][] = []
  const met = new Map<string, number>()
  changes.forEach((change, place) => {
    const before = met.get(change.id) ?? 0
    met.set(change.id, before + 1)
    const round = rounds[before] ?? []
    round.push({ change, place })
    rounds[before] = round
  })
  return rounds
}
