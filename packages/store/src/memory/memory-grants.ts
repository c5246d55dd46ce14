import type { Grant, GrantWrites } from '@sallyport/core'
import type { GrantId, ProfileId } from '@sallyport/protocol'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { sorted } from './sort.ts'

export class MemoryGrants implements GrantWrites {
  readonly #grants: MemoryRows<Grant>

  constructor(rows: { grants: MemoryRows<Grant> }) {
    this.#grants = rows.grants
  }

  async get(id: GrantId): Promise<Grant | undefined> {
    return this.#grants.get(id)
  }

  async ofProfile(profileId: ProfileId): Promise<Grant[]> {
    const standing = this.#grants
      .all()
      .filter((grant) => grant.profileId === profileId && grant.revokedAt === null)
    return sorted(
      standing,
      ({ connectionId }) => connectionId,
      ({ tool }) => tool,
    )
  }

  async insert(grant: Grant): Promise<boolean> {
    const standing = await this.ofProfile(grant.profileId)
    const same = standing.some(
      ({ connectionId, tool }) => connectionId === grant.connectionId && tool === grant.tool,
    )
    if (same && grant.revokedAt === null) return false
    putNew(this.#grants, grant.id, grant)
    return true
  }

  async revoke(id: GrantId, at: number): Promise<boolean> {
    const grant = this.#grants.get(id)
    if (grant?.revokedAt !== null) return false
    this.#grants.put({ ...grant, revokedAt: at })
    return true
  }
}
