/** What is looked at when a law is checked. */
import type { Approval, Execution } from '@sallyport/core'
import type { ApprovalId, ExecutionId, InstanceId } from '@sallyport/protocol'

export class LawBroken extends Error {
  readonly law: string

  constructor(law: string, detail: string) {
    super(`${law}: ${detail}`)
    this.law = law
  }
}

export function must(law: string, holds: boolean, detail: string): void {
  if (!holds) throw new LawBroken(law, detail)
}

/** What stands in the store after a commit. */
export interface Standing {
  readonly rows: ReadonlyMap<ExecutionId, Execution>
  readonly approvals: ReadonlyMap<ApprovalId, Approval>
  /** Until when gateways hold their leases. */
  readonly leases: ReadonlyMap<InstanceId, number>
  /** When what was committed was decided. */
  readonly decidedAt: number
}

export const nothing: Standing = {
  rows: new Map(),
  approvals: new Map(),
  leases: new Map(),
  decidedAt: 0,
}

/** One commit. */
export interface Commit {
  readonly before: Standing
  readonly after: Standing
}

/** Rows that are there since this commit, or in another state. */
export function* changes({ before, after }: Commit): Generator<[Execution | undefined, Execution]> {
  for (const row of after.rows.values()) {
    const earlier = before.rows.get(row.id)
    if (earlier?.state !== row.state) yield [earlier, row]
  }
}

export function isIdentical(one: Execution, other: Execution): boolean {
  const { access, ownerId, connectionId, tool, argumentsDigest } = one
  return (
    access === 'write' &&
    ownerId === other.ownerId &&
    connectionId === other.connectionId &&
    tool === other.tool &&
    argumentsDigest === other.argumentsDigest
  )
}

export function isBeforeBarrier({ state }: Execution): boolean {
  return state === 'awaiting_approval' || state === 'approved'
}

export function hasLeft({ caller }: Execution): boolean {
  return caller === 'detached' || caller === 'held_back'
}
