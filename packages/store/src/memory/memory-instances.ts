import type { Instance, InstanceWrites } from '@sallyport/core'
import type { InstanceId } from '@sallyport/protocol'
import type { MemoryRows } from './memory-rows.ts'
import { sorted } from './sort.ts'

export class MemoryInstances implements InstanceWrites {
  readonly #instances: MemoryRows<Instance>

  constructor(rows: { instances: MemoryRows<Instance> }) {
    this.#instances = rows.instances
  }

  async list(): Promise<Instance[]> {
    return sorted(this.#instances.all(), ({ id }) => id)
  }

  async renew(instance: Instance): Promise<void> {
    const known = this.#instances.get(instance.id) ?? instance
    this.#instances.put({ ...known, leaseUntil: instance.leaseUntil })
  }

  async end(id: InstanceId): Promise<void> {
    this.#instances.drop(id)
  }
}
