import type { Execution } from '@sallyport/core'
import { blocksWrites } from '../rows/outcome.ts'
import { compareText } from '../rows/text.ts'

/** The keys that rows would keep other writes out by, each once. */
export function writeKeys(rows: readonly Execution[]): string[] {
  return [...new Set(rows.filter(blocksWrites).map((row) => row.writeKey as string))]
}

/**
 * By session and callId, so that two gateways that record the same calls wait for each other in one order. Of rows with
 * one write key the first wins: the others are tried afterwards.
 */
export function inLockOrder(rows: readonly Execution[]): Execution[][] {
  const seen = new Set<string>()
  const first: Execution[] = []
  const again: Execution[] = []
  for (const row of rows) {
    const key = blocksWrites(row) ? row.writeKey : null
    if (key !== null && seen.has(key)) again.push(row)
    else first.push(row)
    if (key !== null) seen.add(key)
  }
  return [first, again].filter((part) => part.length > 0).map((part) => part.sort(byCall))
}

function byCall(a: Execution, b: Execution): number {
  const bySession = a.sessionId === b.sessionId ? 0 : compareText(a.sessionId, b.sessionId)
  return bySession || compareText(a.callId, b.callId)
}
