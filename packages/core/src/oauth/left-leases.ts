import type { CredentialId, InstanceId } from '@sallyport/protocol'
import type { Store } from '../store.ts'
import { livingInstances } from './living-instances.ts'
import type { RefreshLease } from './oauth.ts'

export interface LeftLease {
  readonly lease: RefreshLease
  /** Its time has passed. */
  readonly isOver: boolean
}

/**
 * Leases whose refresh nobody waits for: of gateways that are gone, of this one where nothing goes on, and those that are
 * over. Every other gateway that lives looks after its own.
 */
export async function leftLeases(
  store: Store,
  instance: InstanceId,
  isBusy: (id: CredentialId) => boolean,
): Promise<LeftLease[]> {
  const leases = (await store.oauth.leases()).filter(({ credentialId }) => !isBusy(credentialId))
  if (leases.length === 0) return []
  const { now, instances } = await livingInstances(store)
  return leases
    .map((lease) => ({ lease, isOver: lease.leaseUntil <= now }))
    .filter(
      ({ lease: { holder }, isOver }) => isOver || holder === instance || !instances.has(holder),
    )
}
