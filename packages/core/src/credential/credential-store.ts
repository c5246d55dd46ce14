import type { CredentialId } from '@sallyport/protocol'
import type { Credential } from './credential.ts'

export interface CredentialReads {
  get(id: CredentialId): Promise<Credential | undefined>
}

export interface CredentialWrites extends CredentialReads {
  /** False when the id is in use. */
  insert(credential: Credential): Promise<boolean>
  /**
   * Replaces when the stored version still is `expectedVersion`; false when it moved. The version may stay (the seal names
   * it) but not fall: TypeError. Where it stays the seal stays too: false when another one is stored by now.
   */
  update(credential: Credential, expectedVersion: number): Promise<boolean>
}
