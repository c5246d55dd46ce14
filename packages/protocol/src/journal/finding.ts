/** What can be wrong with a journal, each with its place. */
export const findingKinds = {
  unreadable_line: 'is not a line of a journal',
  cut_off: 'the file has no end: something was cut off',
  key_changed: 'the key is not the one that its id names',
  key_unknown: 'was signed with a key that the journal does not have',
  checkpoint_changed: 'the checkpoint is not what was signed',
  checkpoint_missing: 'the checkpoint is missing',
  checkpoint_out_of_order: 'the checkpoint stands in the wrong place',
  checkpoint_unlinked: 'the checkpoint does not follow the one before it',
  stream_unsigned: 'the stream was not begun by whom it names',
  page_changed: 'the page is not what was recorded',
  page_missing: 'events are missing',
  page_out_of_order: 'the page stands in the wrong place',
  page_repeated: 'the page repeats what was already told',
  page_unlinked: 'the page does not follow the one before it',
  tail_missing: 'a checkpoint knows events that are missing at the end of the stream',
  stream_missing: 'a checkpoint knows the stream, and it is not there',
  head_differs: 'a checkpoint knows another page with this end',
  not_covered: 'no checkpoint knows the page, though it is old enough',
  batch_differs: 'the batch is not that of its intents',
  execution_gap: "the execution's own sequence has a gap here",
  row_missing: 'the execution has no row',
  row_differs: 'the row of the execution is not what the journal says',
} as const
export type FindingKind = keyof typeof findingKinds

export interface Place {
  readonly stream?: string
  /** In the stream. */
  readonly sequence?: number
  readonly checkpoint?: number
  readonly execution?: string
  /** Of the row. */
  readonly field?: string
  /** Number of the line, from 1. */
  readonly line?: number
  readonly kid?: string
}

export interface Finding extends Place {
  readonly kind: FindingKind
}

const mostOfAKind = 20

/** Keeps the first of each kind and counts the rest: what is wrong with one page can be told a thousand times. */
export class Findings {
  readonly #kept: Finding[] = []
  readonly #counts = new Map<FindingKind, number>()

  add(kind: FindingKind, place: Place): void {
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    if (count <= mostOfAKind) this.#kept.push({ kind, ...place })
  }

  /** In the order of the list of kinds: first what the others follow from. */
  list(): { readonly findings: readonly Finding[]; readonly more: number } {
    const kinds = Object.keys(findingKinds)
    const findings = this.#kept.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
    const all = [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
    return { findings, more: all - findings.length }
  }
}
