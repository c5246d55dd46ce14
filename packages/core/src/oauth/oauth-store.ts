import type {
  ConnectionId,
  CredentialId,
  InstanceId,
  IntentId,
  OAuthClientId,
  OAuthFlowId,
} from '@sallyport/protocol'
import type { Scope } from '../connection/connection.ts'
import type { OAuthConnection, OAuthFlow, RefreshLease, StoredOAuthClient } from './oauth.ts'

export interface OAuthReads {
  /** Undefined for a connection that does not use OAuth. */
  connection(id: ConnectionId): Promise<OAuthConnection | undefined>
  /** Of connections that are not deleted, by their ids. */
  connections(): Promise<OAuthConnection[]>
  client(id: OAuthClientId): Promise<StoredOAuthClient | undefined>
  /** Made by flows for connections of this scope, newest first. */
  registrations(scope: Scope, limit: number): Promise<StoredOAuthClient[]>
  flow(id: OAuthFlowId): Promise<OAuthFlow | undefined>
  /** Those that are waiting or finishing, by their ids. */
  openFlows(): Promise<OAuthFlow[]>
  /** All of them, also those whose time is over. */
  leases(): Promise<RefreshLease[]>
}

export interface OAuthWrites extends OAuthReads {
  /** Inserts, or replaces the row of that connection. */
  putConnection(connection: OAuthConnection): Promise<void>
  /** False when the id is in use. */
  insertClient(client: StoredOAuthClient): Promise<boolean>
  /** False when id or state is in use. */
  insertFlow(flow: OAuthFlow): Promise<boolean>
  /**
   * The waiting flow of this state, `finishing` by that gateway from now on, so that a state is used once. Undefined for a
   * state that is absent, was used, or is over at `now`: nobody is told which.
   */
  takeFlow(stateHash: string, now: number, finisher: InstanceId): Promise<OAuthFlow | undefined>
  /** Replaces the row of that id. False, and nothing happens, when it is done or failed, or not there. */
  closeFlow(flow: OAuthFlow): Promise<boolean>
  /** Those whose time was over before. */
  dropFlows(before: number): Promise<void>
  /**
   * False while there is one on the credential, whoever holds it, also one that is over: what became of its order is asked
   * before the next one.
   */
  takeLease(lease: RefreshLease): Promise<boolean>
  /** Puts another lease in the place of that order's. False, and nothing happens, when it is another order's by now. */
  moveLease(intentId: IntentId, lease: RefreshLease): Promise<boolean>
  /** False, and nothing happens, when it is another order's by now. */
  dropLease(credentialId: CredentialId, intentId: IntentId): Promise<boolean>
}
