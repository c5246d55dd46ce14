/** Parts that a sabotage puts in the place of sound ones. */
import type { Store, Tx } from '@sallyport/core'

/** `whole`, but for what `parts` has. */
export function changed<T extends object>(whole: T, parts: Partial<T>): T {
  return new Proxy(whole, {
    get: (target, name) => {
      const value = Reflect.get(name in parts ? parts : target, name)
      return typeof value === 'function' ? value.bind(name in parts ? parts : target) : value
    },
  })
}

export function changedTransactions(store: Store, change: (tx: Tx) => Tx): Store {
  return changed(store, {
    transact: (work, options) => store.transact((tx) => work(change(tx)), options),
  })
}

type Parts<Noun extends 'executions' | 'approvals'> = (tx: Tx) => Partial<Tx[Noun]>

export const executions =
  (parts: Parts<'executions'>) =>
  (store: Store): Store =>
    changedTransactions(store, (tx) =>
      changed(tx, { executions: changed(tx.executions, parts(tx)) }),
    )

export const approvals =
  (parts: Parts<'approvals'>) =>
  (store: Store): Store =>
    changedTransactions(store, (tx) => changed(tx, { approvals: changed(tx.approvals, parts(tx)) }))
