import type { InstanceId } from '@sallyport/protocol'
import type { Instance } from './instance.ts'

export interface InstanceReads {
  list(): Promise<Instance[]>
}

export interface InstanceWrites extends InstanceReads {
  /** Inserts or extends. */
  renew(instance: Instance): Promise<void>
  /** Ends a lease at once: its process is proved gone. */
  end(id: InstanceId): Promise<void>
}
