import {
  type Connection,
  type Credential,
  type OAuthFlow,
  type SealWrites,
  type StoredOAuthClient,
  type StoredSeal,
  type StoredSealKind,
  type Webhook,
  webhookPlace,
} from '@sallyport/core'
import type { ConnectionId } from '@sallyport/protocol'
import type { MemoryRows } from './memory-rows.ts'
import { sorted } from './sort.ts'

interface Rows {
  readonly connections: MemoryRows<Connection>
  readonly credentials: MemoryRows<Credential>
  readonly webhooks: MemoryRows<Webhook>
  readonly oauthClients: MemoryRows<StoredOAuthClient>
  readonly oauthFlows: MemoryRows<OAuthFlow>
}

export class MemorySeals implements SealWrites {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async page(kind: StoredSealKind, after: string, limit: number): Promise<StoredSeal[]> {
    const all = this.#all(kind).filter(({ row, seal }) => seal !== '' && row > after)
    return sorted(all, ({ row }) => row).slice(0, limit)
  }

  async replace({ row, place: { kind }, seal }: StoredSeal, by: string): Promise<boolean> {
    const isThere = this.#all(kind).some((one) => one.row === row && one.seal === seal)
    if (isThere) this.#put(kind, row, by)
    return isThere
  }

  #put(kind: StoredSealKind, row: string, seal: string): void {
    const { connections, credentials, webhooks, oauthClients, oauthFlows } = this.#rows
    switch (kind) {
      case 'endpoint': {
        const connection = kept(connections, row)
        const version = connection.version + 1
        connections.put({ ...connection, endpointSeal: seal, version })
        break
      }
      case 'credential':
        credentials.put({ ...kept(credentials, row), seal })
        break
      case 'webhook':
        webhooks.put({ ...kept(webhooks, row), seal })
        break
      case 'oauth_client':
        oauthClients.put({ ...kept(oauthClients, row), seal })
        break
      case 'oauth_pending':
        oauthFlows.put({ ...kept(oauthFlows, row), pending: seal })
    }
  }

  #all(kind: StoredSealKind): StoredSeal[] {
    const { connections, credentials, webhooks, oauthClients, oauthFlows } = this.#rows
    const sealed = (row: string, scope: string, version: number, seal: string, id = row) => ({
      row,
      place: { kind, id, scope, version },
      seal,
    })
    const scopeOf = (id: ConnectionId) => connections.get(id)?.scope ?? ''
    switch (kind) {
      case 'endpoint':
        return connections
          .all()
          .map(({ id, scope, revision, endpointSeal }) =>
            sealed(id, scope, revision, endpointSeal ?? ''),
          )
      case 'credential':
        return credentials
          .all()
          .map(({ id, connectionId, version, seal }) =>
            sealed(id, scopeOf(connectionId), version, seal),
          )
      case 'webhook':
        return webhooks
          .all()
          .map(({ id, seal }) => sealed(id, webhookPlace.scope, webhookPlace.version, seal))
      case 'oauth_client':
        return oauthClients
          .all()
          .map(({ id, scope, version, seal }) => sealed(id, scope, version, seal))
      case 'oauth_pending':
        return oauthFlows
          .all()
          .map(({ id, connectionId, connectionRevision, pending }) =>
            sealed(id, scopeOf(connectionId), connectionRevision, pending, connectionId),
          )
    }
  }
}

function kept<Row>(rows: MemoryRows<Row>, id: string): Row {
  const row = rows.get(id)
  if (!row) throw new TypeError('it was there a moment ago')
  return row
}
