/** Ways to break what people decide, and what becomes of callers, each with the law that must then be found broken. */
import type { Approval, Execution, Store } from '@sallyport/core'
import type { ApprovalId, ExecutionId } from '@sallyport/protocol'
import { approvals, changed, executions } from './changed.ts'
import { isBeforeBarrier } from './law.ts'
import type { Sabotage } from './sabotages.ts'

const sparing = approvals((tx) => ({
  update: (rows) => tx.approvals.update(rows.filter(({ state }) => state !== 'consumed')),
}))

const hasty = approvals((tx) => ({
  update: async (rows) => {
    await tx.approvals.update(rows)
    const approved = rows.filter(({ state }) => state === 'approved')
    await tx.approvals.update(approved.map((row) => ({ ...row, state: 'consumed', closedAt: 0 })))
  },
}))

const generous = approvals((tx) => ({
  countPending: async (ids) => {
    await tx.approvals.countPending(ids)
    return new Map()
  },
}))

/** Of each approval believes what it has read first. */
const hurried = (store: Store): Store => {
  const known = new Map<ApprovalId, Approval>()
  return approvals((tx) => ({
    lock: async (ids) => {
      const rows = await tx.approvals.lock(ids)
      for (const [id, row] of rows) if (!known.has(id)) known.set(id, row)
      return new Map([...rows.keys()].map((id) => [id, known.get(id) as Approval]))
    },
  }))(store)
}

const careless = executions((tx) => ({
  settle: (settlements) =>
    tx.executions.settle(settlements.map(({ intentId: _, ...settlement }) => settlement)),
}))

/** Once an unknown is recorded, what is identical to it is not looked for. */
const unswept = executions((tx) => {
  let isUnknown = false
  return {
    settle: (settlements) => {
      isUnknown ||= settlements.some(({ state }) => state === 'unknown')
      return tx.executions.settle(settlements)
    },
    twins: async (keys) => (isUnknown ? [] : tx.executions.twins(keys)),
  }
})

const lonely = executions(() => ({ twins: async () => [] }))

/** Identical ones as they were when they were read the last time. */
const unlocked = (store: Store): Store => {
  const known = new Map<string, Execution[]>()
  return executions((tx) => ({
    twins: async (keys) => {
      const before = known.get(keys.join()) ?? []
      known.set(keys.join(), await tx.executions.twins(keys))
      return before
    },
  }))(store)
}

/** Takes an execution over whether or not its caller has left. */
const greedy = executions((tx) => ({
  twins: async (keys) => {
    const twins = await tx.executions.twins(keys)
    return twins.map((row) => (row.caller === 'attached' ? { ...row, caller: 'detached' } : row))
  },
  moveCallers: (changes) =>
    tx.executions.moveCallers(
      changes.map((change) => {
        if (change.to !== 'attached') return change
        const { of: _, ...others } = change
        return { ...others, from: ['attached', 'detached', 'held_back'] }
      }),
    ),
}))

/** Whoever takes its request back is taken for one of the eras before. */
function lenient(store: Store): Store {
  const shown = (row: Execution): Execution =>
    row.isModern && isBeforeBarrier(row) && row.caller === 'held_back'
      ? { ...row, isModern: false, caller: 'detached' }
      : row
  const reads = changed(store.executions, {
    waiting: async (limit) => (await store.executions.waiting(limit)).map(shown),
    getMany: async (ids) => (await store.executions.getMany(ids)).map(shown),
  })
  const inTransactions = executions((tx) => ({
    lock: async (ids) => {
      const rows = await tx.executions.lock(ids)
      return new Map([...rows].map(([id, row]) => [id, shown(row)]))
    },
  }))
  return inTransactions(changed(store, { executions: reads }))
}

/** Sees what has passed as it was before, and lets it pass again. */
const forgetful = (store: Store): Store => {
  const passed = new Map<ExecutionId, number>()
  return executions((tx) => ({
    lock: async (ids) => {
      const rows = await tx.executions.lock(ids)
      const again = ({ state }: Execution): boolean => state === 'dispatching'
      return new Map(
        [...rows].map(([id, row]) => [id, again(row) ? { ...row, state: 'approved' } : row]),
      )
    },
    dispatch: async (given) => {
      const sequences = await tx.executions.dispatch(given)
      return sequences.map((sequence, at) => {
        const { id, sequence: before } = given[at] as Execution
        passed.set(id, sequence ?? before + 1)
        return passed.get(id)
      })
    },
  }))(
    approvals((tx) => ({
      lock: async (ids) => {
        const rows = await tx.approvals.lock(ids)
        const again = ({ state }: Approval): boolean => state === 'consumed'
        return new Map(
          [...rows].map(([id, row]) => [id, again(row) ? { ...row, state: 'approved' } : row]),
        )
      },
      update: async (rows) => {
        const now = await tx.approvals.lock(rows.map(({ id }) => id))
        await tx.approvals.update(rows.filter(({ id }) => now.get(id)?.state !== 'consumed'))
      },
    }))(store),
  )
}

/** The answer counts as collected as soon as there will be one. */
const early = executions((tx) => ({
  dispatch: async (rows) => {
    const sequences = await tx.executions.dispatch(rows)
    await tx.executions.moveCallers(
      rows.map(({ id, gatewayInstance: by }) => ({ id, from: ['attached'], to: 'collected', by })),
    )
    return sequences
  },
}))

/** Callers that have their answer are taken for those that have not. */
const repeating = executions((tx) => ({
  moveCallers: (changes) =>
    tx.executions.moveCallers(
      changes.map((change) => (change.to === 'collected' ? { ...change, to: 'detached' } : change)),
    ),
}))

/** Callers that have left stay where they were. */
const losing = executions((tx) => ({
  moveCallers: async (changes) => {
    const isKept = changes.map(({ to }) => to === 'attached' || to === 'collected')
    const kept = await tx.executions.moveCallers(changes.filter((_, at) => isKept[at]))
    return isKept.map((is) => (is ? kept.shift() === true : true))
  },
}))

export const approvalSabotages: readonly Sabotage[] = [
  {
    name: 'a barrier that consumes no approval',
    laws: ['consumed_by_its_barrier'],
    scenario: 'a write that a person decides',
    gateway: { store: sparing },
  },
  {
    name: 'an approval that is consumed before its barrier',
    laws: ['a_decided_approval_stays', 'consumed_by_its_barrier'],
    scenario: 'a write that a person decides',
    gateway: { store: hasty },
  },
  {
    name: 'outcomes that do not say of which intent they are',
    laws: ['applied_only_while_dispatching', 'not_sent_was_not_applied'],
    scenario: 'a write that a person decides, and a slow worker',
    gateway: { store: careless },
  },
  {
    name: 'an unknown that ends nothing beside it',
    laws: ['an_unknown_ends_what_is_identical'],
    scenario: 'identical writes of two sessions',
    gateway: { store: unswept },
  },
  {
    name: 'identical ones that are not looked for',
    laws: ['identical_ones_go_one_after_another', 'who_left_is_taken_over'],
    scenario: 'identical writes of one session',
    gateway: { store: lonely },
  },
  {
    name: 'a write key that keeps nobody out',
    laws: ['identical_ones_go_one_after_another', 'who_left_is_taken_over'],
    scenario: 'identical writes of one session',
    gateway: { store: unlocked },
  },
  {
    name: 'callers that are taken over without a look at who has them',
    laws: ['who_waits_keeps_its_call'],
    scenario: 'identical writes of one session',
    gateway: { store: greedy },
  },
  {
    name: 'a modern caller that has left and passes',
    laws: ['no_barrier_for_a_caller_that_left'],
    scenario: 'a modern write that a person decides',
    gateway: { store: lenient },
  },
  {
    name: 'an execution that passes twice',
    laws: ['applied_only_while_dispatching', 'applied_at_most_once'],
    scenario: 'a write that a person decides',
    gateway: { store: forgetful },
  },
  {
    name: 'people who decide without seeing one another',
    laws: ['decisions_stay', 'a_confirmed_decision_stands'],
    scenario: 'a write that two people decide',
    gateway: { store: hurried },
  },
  {
    name: 'answers that are collected before there is one',
    laws: ['only_what_is_settled_is_collected'],
    scenario: 'a write that a person decides',
    gateway: { store: early },
  },
  {
    name: 'answers that are given again to whoever has them',
    laws: ['an_outcome_is_given_once'],
    scenario: 'a write, and the same once more',
    gateway: { store: repeating },
  },
  {
    name: 'callers of which nobody records that they have left',
    laws: ['waiting_can_be_collected', 'nothing_waits_for_ever', 'done_once_for_each_wish'],
    scenario: 'a modern write that a person decides',
    gateway: { store: losing },
  },
  {
    name: 'a session that may ask without end',
    laws: ['at_most_eight_wait'],
    scenario: 'two more where seven wait',
    gateway: { store: generous },
  },
  {
    name: 'approvals that do not expire',
    laws: ['nothing_waits_for_ever', 'every_approval_ends'],
    scenario: 'a modern write that a person decides',
    gateway: { expires: false },
  },
]
