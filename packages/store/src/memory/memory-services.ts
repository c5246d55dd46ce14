import type {
  ConditionWrites,
  Connection,
  OAuthConnection,
  Service,
  ServiceWrites,
  StoredOAuthClient,
  ToldCondition,
} from '@sallyport/core'
import type { ServiceId } from '@sallyport/protocol'
import type { MemoryRows } from './memory-rows.ts'
import { sorted } from './sort.ts'

interface Rows {
  readonly connections: MemoryRows<Connection>
  readonly services: MemoryRows<Service>
  readonly toldConditions: MemoryRows<ToldCondition>
  readonly oauthClients: MemoryRows<StoredOAuthClient>
  readonly oauthConnections: MemoryRows<OAuthConnection>
}

export class MemoryServices implements ServiceWrites {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async byName(name: string): Promise<Service | undefined> {
    return this.#rows.services.all().find((service) => service.name === name)
  }

  async list(): Promise<Service[]> {
    return sorted(this.#rows.services.all(), ({ name }) => name)
  }

  async insert(service: Service): Promise<boolean> {
    if (await this.byName(service.name)) return false
    this.#rows.services.put(service)
    return true
  }

  lock(name: string): Promise<Service | undefined> {
    return this.byName(name)
  }

  async remove(id: ServiceId): Promise<boolean> {
    const { services, oauthClients, oauthConnections } = this.#rows
    if (!services.get(id)) return false
    services.drop(id)
    const used = new Set(oauthConnections.all().map(({ clientId }) => clientId))
    for (const client of oauthClients.all())
      if (client.connectionId === id && !used.has(client.id)) oauthClients.drop(client.id)
    return true
  }
}

export class MemoryConditions implements ConditionWrites {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async list(): Promise<ToldCondition[]> {
    const { connections, toldConditions } = this.#rows
    const isThere = ({ connectionId }: ToldCondition): boolean => {
      const connection = connections.get(connectionId)
      return connection !== undefined && connection.state !== 'deleted'
    }
    return sorted(toldConditions.all().filter(isThere), ({ connectionId }) => connectionId)
  }

  async put(told: ToldCondition, before: ToldCondition | undefined): Promise<boolean> {
    const now = this.#rows.toldConditions.get(told.connectionId)
    if (now?.condition !== before?.condition || now?.since !== before?.since) return false
    this.#rows.toldConditions.put(told)
    return true
  }
}
