import type {
  Connection,
  OAuthConnection,
  OAuthFlow,
  OAuthWrites,
  RefreshLease,
  Scope,
  StoredOAuthClient,
} from '@sallyport/core'
import type {
  ConnectionId,
  CredentialId,
  InstanceId,
  IntentId,
  OAuthClientId,
  OAuthFlowId,
} from '@sallyport/protocol'
import type { MemoryRows } from './memory-rows.ts'
import { newestFirst, sorted } from './sort.ts'

interface Rows {
  readonly connections: MemoryRows<Connection>
  readonly oauthConnections: MemoryRows<OAuthConnection>
  readonly oauthClients: MemoryRows<StoredOAuthClient>
  readonly oauthFlows: MemoryRows<OAuthFlow>
  readonly refreshLeases: MemoryRows<RefreshLease>
}

export class MemoryOAuth implements OAuthWrites {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async connection(id: ConnectionId): Promise<OAuthConnection | undefined> {
    return this.#rows.oauthConnections.get(id)
  }

  async connections(): Promise<OAuthConnection[]> {
    const { connections, oauthConnections } = this.#rows
    const isThere = ({ connectionId }: OAuthConnection): boolean => {
      const connection = connections.get(connectionId)
      return connection !== undefined && connection.state !== 'deleted'
    }
    return sorted(oauthConnections.all().filter(isThere), ({ connectionId }) => connectionId)
  }

  async client(id: OAuthClientId): Promise<StoredOAuthClient | undefined> {
    return this.#rows.oauthClients.get(id)
  }

  async registrations(scope: Scope, limit: number): Promise<StoredOAuthClient[]> {
    const all = this.#rows.oauthClients.all()
    const ours = all.filter((one) => one.connectionId === null && one.scope === scope)
    return newestFirst(ours).slice(0, limit)
  }

  async flow(id: OAuthFlowId): Promise<OAuthFlow | undefined> {
    return this.#rows.oauthFlows.get(id)
  }

  async openFlows(): Promise<OAuthFlow[]> {
    return sorted(this.#rows.oauthFlows.all().filter(isOpen), ({ id }) => id)
  }

  async leases(): Promise<RefreshLease[]> {
    return sorted(this.#rows.refreshLeases.all(), ({ credentialId }) => credentialId)
  }

  async putConnection(connection: OAuthConnection): Promise<void> {
    this.#rows.oauthConnections.put(connection)
  }

  async insertClient(client: StoredOAuthClient): Promise<boolean> {
    if (this.#rows.oauthClients.get(client.id)) return false
    this.#rows.oauthClients.put(client)
    return true
  }

  async insertFlow(flow: OAuthFlow): Promise<boolean> {
    if (this.#rows.oauthFlows.get(flow.id) || this.#ofState(flow.stateHash)) return false
    this.#rows.oauthFlows.put(flow)
    return true
  }

  async takeFlow(
    stateHash: string,
    now: number,
    finisher: InstanceId,
  ): Promise<OAuthFlow | undefined> {
    const flow = this.#ofState(stateHash)
    if (flow?.state !== 'waiting' || flow.expiresAt <= now) return undefined
    const taken: OAuthFlow = { ...flow, state: 'finishing', finisher }
    this.#rows.oauthFlows.put(taken)
    return taken
  }

  async closeFlow(flow: OAuthFlow): Promise<boolean> {
    const known = this.#rows.oauthFlows.get(flow.id)
    if (!known || !isOpen(known)) return false
    this.#rows.oauthFlows.put(flow)
    return true
  }

  async dropFlows(before: number): Promise<void> {
    for (const { id, expiresAt } of this.#rows.oauthFlows.all())
      if (expiresAt < before) this.#rows.oauthFlows.drop(id)
  }

  async takeLease(lease: RefreshLease): Promise<boolean> {
    if (this.#rows.refreshLeases.get(lease.credentialId)) return false
    this.#rows.refreshLeases.put(lease)
    return true
  }

  async moveLease(intentId: IntentId, lease: RefreshLease): Promise<boolean> {
    if (this.#rows.refreshLeases.get(lease.credentialId)?.intentId !== intentId) return false
    this.#rows.refreshLeases.put(lease)
    return true
  }

  async dropLease(credentialId: CredentialId, intentId: IntentId): Promise<boolean> {
    if (this.#rows.refreshLeases.get(credentialId)?.intentId !== intentId) return false
    this.#rows.refreshLeases.drop(credentialId)
    return true
  }

  #ofState(stateHash: string): OAuthFlow | undefined {
    return this.#rows.oauthFlows.all().find((flow) => flow.stateHash === stateHash)
  }
}

function isOpen({ state }: OAuthFlow): boolean {
  return state === 'waiting' || state === 'finishing'
}
