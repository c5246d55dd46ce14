/** What must be true when nothing happens any more: of the journal, of effects, of what guests and people were told. */
import type { EventSeen, Ledger, RowSeen } from './ledger.ts'
import type { Effect } from './upstream-program.ts'
import type { Ending } from './write.ts'

const told = (fact: object): string => JSON.stringify(fact)

/** States that an execution may come from; the journal's first event has none. */
const comesFrom: Readonly<Record<string, readonly (string | undefined)[]>> = {
  refused: [undefined, 'awaiting_approval', 'approved'],
  awaiting_approval: [undefined],
  approved: [undefined, 'awaiting_approval'],
  dispatching: [undefined, 'approved'],
  succeeded: ['dispatching'],
  tool_error: ['dispatching'],
  not_sent: ['dispatching'],
  lost: ['dispatching'],
  unknown: ['dispatching'],
  resolved: ['unknown'],
  claimed: ['dispatching'],
}

/** The journal tells one way of each execution, that way exists, and its end is what the row says. */
export function journalLaws({ events, rows }: Ledger): string[] {
  const ways = Map.groupBy(events, ({ execution }) => execution)
  const unheard = [...rows.keys()].filter((id) => !ways.has(id))
  return [
    ...unheard.map((id) => `a row of which the journal knows nothing: ${id}`),
    ...[...ways].flatMap(([execution, way]) => wayLaws(way, rows.get(execution))),
  ]
}

function wayLaws(way: readonly EventSeen[], row: RowSeen | undefined): string[] {
  const ordered = way.toSorted((a, b) => a.sequence - b.sequence)
  const problems: string[] = []
  let state: string | undefined
  for (const [at, event] of ordered.entries()) {
    const isNext = event.sequence === at + 1
    const mayCome = comesFrom[event.kind]?.includes(state) === true
    if (!isNext || !mayCome) problems.push(`no such way: ${told(ordered.map(({ kind }) => kind))}`)
    if (event.kind !== 'claimed') state = event.kind
  }
  // More than one barrier would have consumed its approval more than once.
  if (ordered.filter(({ kind }) => kind === 'dispatching').length > 1)
    problems.push(`two barriers of ${ordered[0]?.execution}`)
  if (row?.state !== state || row?.sequence !== ordered.length)
    problems.push(`the journal ends with ${state}, the row is ${told({ row })}`)
  return problems
}

export interface WriteEnd {
  readonly id: string
  readonly ending: Ending
}

/** What a guest was told, and how often its write may have taken effect then. */
const counts: Readonly<Record<Ending, (effects: number) => boolean>> = {
  open: () => false,
  done: (effects) => effects === 1,
  applied: (effects) => effects === 1,
  not_applied: (effects) => effects === 0,
  denied: (effects) => effects === 0,
  abandoned: (effects) => effects <= 1,
  gone: (effects) => effects <= 1,
}

/** When nothing happens any more: each write at most once, each told the truth, nothing left on the way. */
export function endLaws(
  { rows }: Ledger,
  effects: readonly Effect[],
  writes: readonly WriteEnd[],
): string[] {
  const ofExecution = Map.groupBy(effects, ({ execution }) => execution)
  const ofWrite = Map.groupBy(effects, ({ id }) => id)
  return [
    ...[...ofExecution].flatMap(([execution, each]) =>
      each.length > 1 ? [`${each.length} effects of one execution: ${execution}`] : [],
    ),
    ...[...ofExecution.keys()].flatMap((execution) =>
      rows.get(execution)?.state === 'dispatching'
        ? [`in effect and dispatching: ${execution}`]
        : [],
    ),
    ...[...rows.values()].flatMap((row) => rowEnded(row, ofExecution.get(row.id)?.length ?? 0)),
    ...writes.flatMap(({ id, ending }) => {
      const effectsOfIt = ofWrite.get(id)?.length ?? 0
      return counts[ending](effectsOfIt)
        ? []
        : [`the write ${id} is told as ${ending} and took effect ${effectsOfIt} times`]
    }),
  ]
}

function rowEnded({ id, state }: RowSeen, effects: number): string[] {
  if (state === 'dispatching') return [`still dispatching: ${id}`]
  if (state === 'succeeded' && effects !== 1) return [`succeeded without an effect: ${id}`]
  return []
}

/** What people were told is done stays done. */
export function wordLaws(
  { approvals, rows }: Ledger,
  decided: ReadonlyMap<string, 'approve' | 'deny'>,
  resolved: Iterable<string>,
): string[] {
  return [
    ...[...decided].flatMap(([id, decision]) => {
      const state = approvals.get(id)?.state ?? 'missing'
      const isKept =
        decision === 'deny' ? state === 'denied' : !['pending', 'denied'].includes(state)
      return isKept ? [] : [`confirmed ${decision}, and the approval ${id} is ${state}`]
    }),
    ...[...resolved].flatMap((id) => {
      const state = rows.get(id)?.state ?? 'missing'
      return state === 'resolved' ? [] : [`confirmed as resolved, and the row ${id} is ${state}`]
    }),
  ]
}
