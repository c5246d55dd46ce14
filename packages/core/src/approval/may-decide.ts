/** Who may see and decide an approval. The guest is nobody here: it has no user. */
import { type Role, roles, type UserId } from '@sallyport/protocol'
import type { Actor } from '../user/user.ts'
import type { Approval } from './approval.ts'

/** As far as it says who decides. */
export interface Judged {
  readonly approval: Pick<Approval, 'ownerId' | 'approvers' | 'excludesRequester'>
  /** Of a personal connection its owner alone decides, whatever the grant says. */
  readonly isPersonal: boolean
}

/** The requester, and whoever is entitled to decide. An administrator only where the grant entitles that role. */
export function maySeeApproval({ userId, role }: Actor, { approval, isPersonal }: Judged): boolean {
  if (userId === approval.ownerId) return true
  return !isPersonal && entitling(role).includes(approval.approvers)
}

/** Entitled, whatever was decided already. */
export function mayApprove(actor: Actor, judged: Judged): boolean {
  const { approval, isPersonal } = judged
  if (actor.userId !== approval.ownerId) return maySeeApproval(actor, judged)
  return isPersonal || !approval.excludesRequester
}

/** How many different people have to approve. */
export function approvalsNeeded({ approval, isPersonal }: Judged): 1 | 2 {
  return approval.approvers === 'two' && !isPersonal ? 2 : 1
}

/** Values of `approvers` by which a role decides about the calls of others. */
export function entitling(role: Role): string[] {
  const atMost = roles.slice(roles.indexOf(role)).map((least) => `role:${least}`)
  return atMost.includes('role:approver') ? [...atMost, 'two'] : atMost
}

export function isOpen({ state, expiresAt }: Approval, now: number): boolean {
  return state === 'pending' && now < expiresAt
}

export function hasApproved({ decisions }: Approval, userId: UserId): boolean {
  return decisions.some(({ by, decision }) => by === userId && decision === 'approve')
}
