import { idSource, type Role } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import type { Approval } from './approval.ts'
import { approvalsNeeded, entitling, mayApprove, maySeeApproval } from './may-decide.ts'

const ids = idSource(
  () => 1,
  (size) => new Uint8Array(size),
)
const ownerId = ids('user')
const owner = (role: Role) => ({ userId: ownerId, role })
const other = (role: Role) => ({ userId: ids('user'), role })
const judged = (
  approvers: Approval['approvers'],
  excludesRequester = false,
  isPersonal = false,
) => ({
  approval: { ownerId, approvers, excludesRequester },
  isPersonal,
})

test.each([
  ['owner', [false, false, false]],
  ['two', [false, true, true]],
  ['role:member', [true, true, true]],
  ['role:approver', [false, true, true]],
  ['role:admin', [false, false, true]],
  ['role:unheard', [false, false, false]],
] as const)('%s: a member, an approver, an administrator who are not the requester', (who, may) => {
  const roles = ['member', 'approver', 'admin'] as const
  for (const judge of [maySeeApproval, mayApprove])
    expect(roles.map((role) => judge(other(role), judged(who)))).toEqual(may)
})

test.each(['owner', 'two', 'role:admin'])(
  '%s: the requester sees and may, unless excluded',
  (who) => {
    expect(mayApprove(owner('member'), judged(who))).toBe(true)
    expect(mayApprove(owner('admin'), judged(who, true))).toBe(false)
    expect(maySeeApproval(owner('member'), judged(who, true))).toBe(true)
  },
)

test('of a personal connection the owner is the only one, and never excluded', () => {
  for (const who of ['owner', 'two', 'role:member'] as const) {
    const personal = judged(who, true, true)
    expect(mayApprove(owner('member'), personal)).toBe(true)
    expect(maySeeApproval(other('admin'), personal)).toBe(false)
    expect(approvalsNeeded(personal)).toBe(1)
  }
  expect([approvalsNeeded(judged('two')), approvalsNeeded(judged('owner'))]).toEqual([2, 1])
})

test('a role decides what it and those below it decide', () => {
  expect(entitling('member')).toEqual(['role:member'])
  expect(entitling('approver')).toEqual(['role:approver', 'role:member', 'two'])
  expect(entitling('admin')).toEqual(['role:admin', 'role:approver', 'role:member', 'two'])
})
