import type { Credential, CredentialWrites } from '@sallyport/core'
import type { CredentialId } from '@sallyport/protocol'
import { mustNotLower } from '../rows/version.ts'
import type { MemoryRows } from './memory-rows.ts'

export class MemoryCredentials implements CredentialWrites {
  readonly #credentials: MemoryRows<Credential>

  constructor(rows: { credentials: MemoryRows<Credential> }) {
    this.#credentials = rows.credentials
  }

  async get(id: CredentialId): Promise<Credential | undefined> {
    return this.#credentials.get(id)
  }

  async insert(credential: Credential): Promise<boolean> {
    if (this.#credentials.get(credential.id)) return false
    this.#credentials.put(credential)
    return true
  }

  async update(credential: Credential, expectedVersion: number): Promise<boolean> {
    mustNotLower(credential.version, expectedVersion)
    const known = this.#credentials.get(credential.id)
    if (known?.version !== expectedVersion) return false
    if (credential.version === expectedVersion && known.seal !== credential.seal) return false
    this.#credentials.put(credential)
    return true
  }
}
