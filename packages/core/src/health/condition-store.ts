import type { ConnectionId } from '@sallyport/protocol'
import type { ConnectionCondition } from './connection-condition.ts'

/** What others were told last of how a connection is. */
export interface ToldCondition extends ConnectionCondition {
  readonly connectionId: ConnectionId
  /** Since when it is so, as far as was noticed. */
  readonly since: number
}

export interface ConditionReads {
  /** Of connections that are not deleted; by connection. */
  list(): Promise<ToldCondition[]>
}

export interface ConditionWrites extends ConditionReads {
  /** Inserts, or replaces what was told `before`; false when something else was told meanwhile. */
  put(told: ToldCondition, before: ToldCondition | undefined): Promise<boolean>
}
