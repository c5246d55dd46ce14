/** Follows every execution across the streams until nothing can follow any more: only what is open is kept in memory. */
import { executionStates, finalStates } from '../api/executions.ts'
import { type ExecutionFacts, executionFacts, type ReadEvent } from './event.ts'
import type { Findings, Place } from './finding.ts'

/** What the journal says of an execution, up to its newest event. */
export interface ExecutionRecord {
  readonly execution: string
  /** Its own sequence: that of its newest event. */
  readonly sequence: number
  /** Undefined where what was read does not say it. */
  readonly state: string | undefined
  readonly facts: ExecutionFacts
  /** Where the newest event stands. */
  readonly place: Place
}

/** A row as the database has it, in the words of events. */
export interface ExecutionRow extends ExecutionFacts {
  readonly id: string
  readonly state: string
  readonly sequence: number
}

interface RowFinding {
  readonly kind: 'row_missing' | 'row_differs'
  readonly field?: string
}

const states: ReadonlySet<string> = new Set(executionStates)
const final: ReadonlySet<string> = new Set(finalStates)

export class ExecutionBook {
  readonly #findings: Findings
  readonly #onEnd: (record: ExecutionRecord) => void
  readonly #open = new Map<string, ExecutionRecord>()
  isPart = false
  count = 0

  constructor(findings: Findings, onEnd: (record: ExecutionRecord) => void) {
    this.#findings = findings
    this.#onEnd = onEnd
  }

  /** Executions that are not in a final state, as far as was read. */
  open(): ExecutionRecord[] {
    return [...this.#open.values()]
  }

  add(event: ReadEvent, instance: string, place: Place): void {
    const { execution, sequence } = event
    if (execution === undefined || sequence === undefined) return
    const before = this.#open.get(execution)
    if (!before) this.count++
    if (sequence !== (before?.sequence ?? 0) + 1 && !(this.isPart && !before))
      this.#findings.add('execution_gap', { execution, ...place })
    const state = states.has(event.kind) ? event.kind : before?.state
    const own = sequence === 1 ? { gatewayInstance: instance } : {}
    const facts = { ...before?.facts, ...own, ...factsOf(event) }
    const record = { execution, sequence, state, facts, place }
    if (isFinal(record)) {
      this.#open.delete(execution)
      this.#onEnd(record)
    } else this.#open.set(execution, record)
  }
}

function isFinal({ state }: Pick<ExecutionRecord, 'state'>): boolean {
  return state !== undefined && final.has(state)
}

function factsOf(event: ReadEvent): ExecutionFacts {
  const told = executionFacts.filter((name) => event[name] !== undefined)
  return Object.fromEntries(told.map((name) => [name, event[name]]))
}

/**
 * What is wrong with the row of an execution; undefined when nothing is. `ahead`: the row has come further than the part
 * of the journal that was read; that is wrong unless more of the journal says so.
 */
export function compareRow(
  record: ExecutionRecord,
  row: ExecutionRow | undefined,
): 'ahead' | RowFinding | undefined {
  if (!row) return { kind: 'row_missing' }
  if (row.sequence > record.sequence && !isFinal(record)) return 'ahead'
  const field = differing(record, row)
  return field === undefined ? undefined : { kind: 'row_differs', field }
}

function differing({ sequence, state, facts }: ExecutionRecord, row: ExecutionRow) {
  if (row.sequence !== sequence) return 'sequence'
  if (state !== undefined && row.state !== state) return 'state'
  return executionFacts.find((name) => facts[name] !== undefined && facts[name] !== row[name])
}
