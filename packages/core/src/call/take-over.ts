/** Somebody comes for the outcome of an execution by its id, or with its call id: by the same compare-and-swap as an identical call. */
import type { InstanceId } from '@sallyport/protocol'
import { isBeforeBarrier } from '../approval/cancel-waiting.ts'
import type { Execution } from '../execution/execution.ts'
import type { CallerChange } from '../execution/execution-store.ts'
import type { Store, Tx } from '../store.ts'
import { giveTimeToUse, noteFollowers } from './barrier.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Caller } from './ports.ts'
import { callerOf, hasLeft, type Moment } from './twins.ts'

export type TakeOver =
  /** Its caller is attached here now. */
  | { readonly kind: 'attached'; readonly row: Execution }
  /** Nothing is to be taken: its answer was given, or there never was one to give. */
  | { readonly kind: 'collected'; readonly row: Execution }
  /** Its caller is there and waits for it. */
  | { readonly kind: 'in_use'; readonly row: Execution }
  | { readonly kind: 'unknown'; readonly row: Execution }

export interface TakeOverDeps {
  readonly store: Store
  readonly group: Pick<GroupCommit, 'moveCaller'>
  readonly gateway: InstanceId
}

/** `seen` is its row as it was read; the decision is made on what it is under the locks. */
export async function takeOver(
  { store, group, gateway }: TakeOverDeps,
  seen: Execution,
  { era }: Pick<Caller, 'era'>,
): Promise<TakeOver> {
  const isModern = era === 'modern'
  let taken: TakeOver | undefined
  try {
    return await store.transact(
      async (tx) => {
        taken = await take(tx, seen, { gateway, isModern })
        return taken
      },
      { flush: 'later' },
    )
  } catch (thrown) {
    // It may have been committed all the same, and whoever came for it is told that it failed.
    if (taken?.kind === 'attached') void group.moveCaller(leaving(taken.row, gateway))
    throw thrown
  }
}

async function take(
  tx: Tx,
  seen: Execution,
  { gateway, isModern }: { readonly gateway: InstanceId; readonly isModern: boolean },
): Promise<TakeOver> {
  if (seen.writeKey !== null) await tx.executions.holdWriteKeys([seen.writeKey], 'wait')
  if (seen.approvalId !== null) await tx.approvals.lock([seen.approvalId])
  const row = (await tx.executions.lock([seen.id])).get(seen.id) ?? seen
  if (row.state === 'unknown') return { kind: 'unknown', row }
  const moment = await momentOf(tx, gateway)
  const caller = callerOf(row, moment)
  if (caller === null || caller === 'collected') return { kind: 'collected', row }
  if (!hasLeft(row, moment) && row.state !== 'resolved') return { kind: 'in_use', row }
  await giveTimeToUse(tx, [row])
  await tx.executions.moveCallers([
    { id: row.id, from: [row.caller ?? 'detached'], to: 'attached', by: gateway, isModern },
  ])
  if (row.writeKey !== null) await noteFollowers(tx, row, await tx.executions.twins([row.writeKey]))
  return {
    kind: 'attached',
    row: { ...row, caller: 'attached', callerInstance: gateway, isModern },
  }
}

/** By that row. Who is not cannot leave: another may be its caller by now, through the same gateway. */
export function isAttachedAt({ caller, callerInstance }: Execution, gateway: InstanceId): boolean {
  return caller === 'attached' && callerInstance === gateway
}

/** The caller of a row, which is attached here, has left. */
export function leaving(row: Execution, gateway: InstanceId): CallerChange {
  const to = row.isModern && isBeforeBarrier(row) ? 'held_back' : 'detached'
  return { id: row.id, from: ['attached'], of: gateway, to, by: gateway }
}

export async function momentOf(tx: Tx, gateway: InstanceId): Promise<Moment> {
  const now = await tx.now()
  const leases = new Map((await tx.instances.list()).map(({ id, leaseUntil }) => [id, leaseUntil]))
  return { now, isLive: (id) => id === gateway || (leases.get(id) ?? 0) > now }
}
