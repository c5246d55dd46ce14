import type { ErrorCode, IntentId, UserId } from '@sallyport/protocol'
import type { JournalEvent } from '@sallyport/protocol/node'
import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'

type CredentialEventKind = Extract<JournalEvent['kind'], `credential_${string}`>

/** What became of a credential, for the journal. `version` is the one that is there from now on. */
export function credentialEvent(
  kind: CredentialEventKind,
  { id: connectionId, name: connectionName }: Pick<Connection, 'id' | 'name'>,
  { id: credentialId, version }: Pick<Credential, 'id' | 'version'>,
  more: {
    readonly at: number
    readonly intentId?: IntentId
    readonly code?: ErrorCode
    /** Who did it, where somebody did. */
    readonly by?: UserId
  },
): JournalEvent {
  const { by, ...facts } = more
  const notes = { credentialId, credentialVersion: version, ...(by === undefined ? {} : { by }) }
  return { kind, connectionId, connectionName, ...facts, notes }
}
