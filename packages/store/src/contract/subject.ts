import type { Connection, Execution, Store } from '@sallyport/core'

/** What the contract is run on. */
export interface Subject {
  readonly store: Store
  /** A second gateway's store over the same rows. Of an engine that belongs to one process: the same store. */
  readonly rival: Store
  /** Moves the clock of an engine that is handed one. */
  readonly setClock?: (now: number) => void
  close(): Promise<void>
}

export type GetSubject = () => Subject

export function insertExecutions(
  store: Store,
  ...rows: Execution[]
): Promise<('inserted' | 'call' | 'write')[]> {
  return store.transact((tx) => tx.executions.insert(rows))
}

export const plenty = 25

export function insertConnections(store: Store, ...rows: Connection[]): Promise<string[]> {
  return store.transact(async (tx) => {
    const results: string[] = []
    for (const row of rows) results.push(await tx.connections.insert(row, plenty))
    return results
  })
}
