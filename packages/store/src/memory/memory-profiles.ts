import type { Profile, ProfileWrites } from '@sallyport/core'
import type { ProfileId } from '@sallyport/protocol'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { sorted } from './sort.ts'

export class MemoryProfiles implements ProfileWrites {
  readonly #profiles: MemoryRows<Profile>

  constructor(rows: { profiles: MemoryRows<Profile> }) {
    this.#profiles = rows.profiles
  }

  async get(id: ProfileId): Promise<Profile | undefined> {
    return this.#profiles.get(id)
  }

  async byName(name: string): Promise<Profile | undefined> {
    return this.#profiles.all().find((profile) => profile.name === name)
  }

  async list(): Promise<Profile[]> {
    return sorted(this.#profiles.all(), ({ name }) => name)
  }

  async insert(profile: Profile): Promise<boolean> {
    if (await this.byName(profile.name)) return false
    putNew(this.#profiles, profile.id, profile)
    return true
  }
}
