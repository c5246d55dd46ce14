import type { Binding, BindingWrites } from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { sorted } from './sort.ts'

export class MemoryBindings implements BindingWrites {
  readonly #bindings: MemoryRows<Binding>

  constructor(rows: { bindings: MemoryRows<Binding> }) {
    this.#bindings = rows.bindings
  }

  async ofSession(sessionId: SessionId): Promise<Binding[]> {
    return sorted(
      this.#bindings.all().filter((binding) => binding.sessionId === sessionId),
      ({ connectionName }) => connectionName,
      ({ exposedName }) => exposedName,
    )
  }

  async insert(bindings: readonly Binding[]): Promise<void> {
    for (const binding of bindings) {
      const same = (await this.ofSession(binding.sessionId)).some(
        ({ connectionName, exposedName }) =>
          connectionName === binding.connectionName && exposedName === binding.exposedName,
      )
      if (same) this.#bindings.collide()
      putNew(this.#bindings, binding.id, binding)
    }
  }
}
