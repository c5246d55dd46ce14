/** What became of one call that was kept waiting, told from what each side of it saw. */

export const outcomes = [
  'accepted-and-continued',
  'accepted-but-ignored',
  'client-closed',
  'client-retried',
  'settled-error',
  'no-signal',
] as const
export type Outcome = (typeof outcomes)[number]

export interface Observed {
  /** Calls of the held tool that came in from the client. */
  readonly calls: number
  /** Times the model asked for that tool. */
  readonly asked: number
  /** The client went away, or took its call back, before there was an answer. */
  readonly left: boolean
  /** The server's side ended the call with an error of its own. */
  readonly refused: boolean
  /** The answer was written to the client. */
  readonly answered: boolean
  /** What the model was told of the call, as it stands in its client's request; undefined: it was told nothing. */
  readonly told: string | undefined
  /** The step after it was taken. */
  readonly wentOn: boolean
  /** What only the true answer says. */
  readonly answer: string
}

/**
 * A repetition by the client itself comes first: whatever else it saw, there were two calls where the model wanted one.
 * Then what the model was told, which is what counts; how the connection ended says only why it was not told. What the
 * model was told and nobody answered is the client's own word that it waits no longer.
 */
export function classify(seen: Observed): Outcome {
  if (seen.calls > seen.asked) return 'client-retried'
  if (seen.told?.includes(seen.answer))
    return seen.wentOn ? 'accepted-and-continued' : 'accepted-but-ignored'
  if (seen.refused) return 'settled-error'
  if (seen.left || seen.told !== undefined) return 'client-closed'
  return seen.answered ? 'accepted-but-ignored' : 'no-signal'
}

export function countOutcomes(list: readonly Outcome[]): Record<Outcome, number> {
  const count = (wanted: Outcome) => list.filter((one) => one === wanted).length
  return Object.fromEntries(outcomes.map((one) => [one, count(one)])) as Record<Outcome, number>
}
