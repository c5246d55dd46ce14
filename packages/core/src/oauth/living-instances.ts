import type { InstanceId } from '@sallyport/protocol'
import type { Store } from '../store.ts'

export interface Living {
  /** ms since 1970, clock of the database. */
  readonly now: number
  readonly instances: ReadonlySet<InstanceId>
}

/** The gateways whose lease lasts. */
export function livingInstances(store: Pick<Store, 'transact'>): Promise<Living> {
  return store.transact(
    async (tx) => {
      const [now, all] = [await tx.now(), await tx.instances.list()]
      const living = all.filter(({ leaseUntil }) => leaseUntil > now)
      return { now, instances: new Set(living.map(({ id }) => id)) }
    },
    { flush: 'later' },
  )
}
