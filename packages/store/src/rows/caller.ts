/** The part of an execution that says where its caller is. */
import type { CallerChange, Execution } from '@sallyport/core'

/** The row afterwards, or undefined when its caller is not as the change wants it. */
export function callerMoved(row: Execution, change: CallerChange): Execution | undefined {
  const { from, of, to, by, isModern, at } = change
  if (row.caller === null || !from.includes(row.caller)) return undefined
  if (of !== undefined && row.callerInstance !== of) return undefined
  if (row.state === 'unknown' && to === 'collected') return undefined
  return {
    ...row,
    caller: to,
    callerInstance: by,
    isModern: isModern ?? row.isModern,
    collectedAt: to === 'collected' ? (at ?? null) : null,
  }
}
