import type { Setting, SettingWrites } from '@sallyport/core'
import type { MemoryRows } from './memory-rows.ts'
import { sorted } from './sort.ts'

export class MemorySettings implements SettingWrites {
  readonly #settings: MemoryRows<Setting>

  constructor(rows: { settings: MemoryRows<Setting> }) {
    this.#settings = rows.settings
  }

  async get(name: string): Promise<Setting | undefined> {
    return this.#settings.get(name)
  }

  async list(): Promise<Setting[]> {
    return sorted(this.#settings.all(), ({ name }) => name)
  }

  async set(setting: Setting): Promise<void> {
    this.#settings.put(setting)
  }

  async unset(name: string): Promise<boolean> {
    if (!this.#settings.get(name)) return false
    this.#settings.drop(name)
    return true
  }
}
