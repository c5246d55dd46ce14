/** What became of one write, line by line: for whoever has to understand a broken law. */
import { argumentsDigest } from '../system/journal.ts'
import type { Ledger } from './ledger.ts'
import type { Effect } from './upstream-program.ts'
import type { Write } from './write.ts'

export function storyOf(
  write: Write,
  { rows, approvals }: Ledger,
  effects: readonly Effect[],
): string {
  const { id, ms, era, session, ending, met } = write
  const digest = argumentsDigest({ id, ms })
  const own = [...rows.values()].filter(({ arguments_digest: of }) => of === digest)
  const lines = own
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((row) => {
      const { approval_id: approvalId } = row
      const approval = approvalId === null ? '' : approvals.get(approvalId)?.state
      const count = effects.filter(({ execution }) => execution === row.id).length
      return `  row ${JSON.stringify({ ...row, approval, effects: count })}`
    })
  return [
    `write ${id} ${era} ${session.id} ${ending}`,
    ...met.map(({ how, what, executionId = '' }) => `  ${how}: ${what} ${executionId}`),
    ...lines,
  ].join('\n')
}
