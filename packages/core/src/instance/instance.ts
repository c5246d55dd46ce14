import type { InstanceId } from '@sallyport/protocol'

/** A running gateway. It owns its dispatching rows while its lease stands. */
export interface Instance {
  readonly id: InstanceId
  readonly startedAt: number
  readonly leaseUntil: number
}

export const leaseMs = 15_000
export const leaseRenewMs = 5_000
