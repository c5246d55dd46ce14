/** The outcomes of a group: each a compare-and-swap, with the body of its result; an unknown one ends what is identical to it. */
import { cancelWaiting, isBeforeBarrier } from '../approval/cancel-waiting.ts'
import type { Body } from '../body/body.ts'
import type { Execution } from '../execution/execution.ts'
import type { Settlement } from '../execution/execution-store.ts'
import { recordedEvent, settledEvent } from '../journal/events.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { toldEvent } from '../webhook/told-event.ts'

export interface OutcomeToRecord {
  readonly settlement: Settlement
  /** Of a write. */
  readonly writeKey: string | null
  readonly body: Body | undefined
}

/** The keys under which nothing may be let through before these outcomes are recorded. First of all locks. */
export async function holdUnknownKeys(tx: Tx, outcomes: readonly OutcomeToRecord[]): Promise<void> {
  const keys = unknownKeys(outcomes)
  if (keys.length > 0) await tx.executions.holdWriteKeys(keys, 'wait')
}

/** Which of them moved their row. */
export async function recordOutcomes(
  tx: Tx,
  page: PageDraft,
  outcomes: readonly OutcomeToRecord[],
): Promise<boolean[]> {
  if (outcomes.length === 0) return []
  const sequences = await tx.executions.settle(outcomes.map(({ settlement }) => settlement))
  const moved = outcomes.filter((_, at) => sequences[at] !== undefined)
  for (const [at, { settlement }] of outcomes.entries()) {
    const sequence = sequences[at]
    if (sequence !== undefined) page.note(settledEvent(settlement, sequence))
  }
  const bodies = moved.flatMap(({ body }) => body ?? [])
  if (bodies.length > 0) await tx.bodies.insert(bodies)
  await refuseIdentical(tx, page, moved)
  return sequences.map((sequence) => sequence !== undefined)
}

/** Of a call id that is recorded already nothing is told. */
export async function recordRefusals(
  tx: Tx,
  page: PageDraft,
  rows: readonly Execution[],
): Promise<void> {
  const results = await tx.executions.insert(rows)
  for (const [at, row] of rows.entries())
    if (results[at] === 'inserted') page.note(recordedEvent(row))
}

/** No approval that was given before an unknown was recorded lets anything identical through after it. */
async function refuseIdentical(
  tx: Tx,
  page: PageDraft,
  moved: readonly OutcomeToRecord[],
): Promise<void> {
  for (const { settlement, writeKey } of moved) {
    if (settlement.state !== 'unknown') continue
    const row = await tx.executions.get(settlement.id)
    if (row) page.tell(toldEvent('execution.unknown', settlement.finishedAt ?? 0, row))
    if (writeKey === null) continue
    const twins = await tx.executions.twins([writeKey])
    await cancelWaiting(tx, page, twins.filter(isBeforeBarrier), {
      code: 'outcome_unknown',
      notes: { about: settlement.id },
    })
  }
}

function unknownKeys(outcomes: readonly OutcomeToRecord[]): string[] {
  const keys = outcomes.flatMap(({ settlement, writeKey }) =>
    settlement.state === 'unknown' && writeKey !== null ? [writeKey] : [],
  )
  return [...new Set(keys)].sort()
}
