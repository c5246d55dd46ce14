import { type Approval, approvalMoves } from '@sallyport/core'

/** Throws TypeError for a row that does not exist, and for a move that there is not. */
export function mustBeApprovalMove(before: Pick<Approval, 'state'> | undefined, after: Approval) {
  if (before === undefined) throw new TypeError('an approval that does not exist')
  const next: readonly string[] = approvalMoves[before.state]
  const stays = before.state === after.state && next.length > 0
  if (!stays && !next.includes(after.state))
    throw new TypeError(`an approval never moves from ${before.state} to ${after.state}`)
}
