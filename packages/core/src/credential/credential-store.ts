import type { CredentialId } from '@sallyport/protocol'
import type { Credential } from './credential.ts'

export interface CredentialReads {
  get(id: CredentialId): Promise<Credential | undefined>
}

export interface CredentialWrites extends CredentialReads {
  /** False when the id is in use. */
  insert(credential: Credential): Promise<boolean>
  /** Replaces when the stored version still is `expectedVersion`; false when it moved. */
  update(credential: Credential, expectedVersion: number): Promise<boolean>
}
