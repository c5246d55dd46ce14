import type {
  OAuthConnection,
  OAuthFlow,
  OAuthReads,
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
import { oauthClients, oauthConnections, oauthFlows, refreshLeases } from '../rows/oauth-tables.ts'
import { keepText } from '../rows/text.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, replace, select } from './statements.ts'

const connectionOf = select(oauthConnections, 'WHERE connection_id = $1')
const allConnections = select(
  oauthConnections,
  `WHERE connection_id IN (SELECT id FROM connections WHERE state <> 'deleted') ORDER BY connection_id`,
)
const insertConnection = insert(oauthConnections, 'ON CONFLICT DO NOTHING')
const replaceConnection = replace(oauthConnections, 'connection_id IS NOT NULL')
const clientOf = select(oauthClients, 'WHERE id = $1')
const registered = select(
  oauthClients,
  'WHERE connection_id IS NULL AND scope = $1 ORDER BY id DESC LIMIT $2',
)
const insertClient = insert(oauthClients, 'ON CONFLICT DO NOTHING')
const flowOf = select(oauthFlows, 'WHERE id = $1')
const openFlows = select(oauthFlows, `WHERE state IN ('waiting', 'finishing') ORDER BY id`)
const flowOfState = select(oauthFlows, 'WHERE state_hash = $1')
const insertFlow = insert(oauthFlows, 'ON CONFLICT DO NOTHING')
const takeFlow = `UPDATE oauth_flows SET state = 'finishing', finisher = $3
  WHERE state_hash = $1 AND state = 'waiting' AND expires_at > $2`
const replaceFlow = replace(oauthFlows, `state IN ('waiting', 'finishing')`)
const takeLease = insert(refreshLeases, 'ON CONFLICT DO NOTHING')
const allLeases = select(refreshLeases, 'ORDER BY credential_id')
const moveLease = replace(refreshLeases, 'intent_id = $9')
const dropLease = 'DELETE FROM refresh_leases WHERE credential_id = $1 AND intent_id = $2'

export class SqlOAuthReads implements OAuthReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  connection(id: ConnectionId): Promise<OAuthConnection | undefined> {
    return readOne(this.#db, oauthConnections, connectionOf, [id])
  }

  connections(): Promise<OAuthConnection[]> {
    return readAll(this.#db, oauthConnections, allConnections, [])
  }

  client(id: OAuthClientId): Promise<StoredOAuthClient | undefined> {
    return readOne(this.#db, oauthClients, clientOf, [id])
  }

  registrations(scope: Scope, limit: number): Promise<StoredOAuthClient[]> {
    return readAll(this.#db, oauthClients, registered, [keepText(scope), limit])
  }

  flow(id: OAuthFlowId): Promise<OAuthFlow | undefined> {
    return readOne(this.#db, oauthFlows, flowOf, [keepText(id)])
  }

  openFlows(): Promise<OAuthFlow[]> {
    return readAll(this.#db, oauthFlows, openFlows, [])
  }

  leases(): Promise<RefreshLease[]> {
    return readAll(this.#db, refreshLeases, allLeases, [])
  }
}

export class SqlOAuthWrites extends SqlOAuthReads implements OAuthWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async putConnection(connection: OAuthConnection): Promise<void> {
    const kept = oauthConnections.keep(connection)
    if ((await this.#tx.run(insertConnection, kept)) === 0)
      await this.#tx.run(replaceConnection, kept)
  }

  async insertClient(client: StoredOAuthClient): Promise<boolean> {
    return (await this.#tx.run(insertClient, oauthClients.keep(client))) === 1
  }

  async insertFlow(flow: OAuthFlow): Promise<boolean> {
    return (await this.#tx.run(insertFlow, oauthFlows.keep(flow))) === 1
  }

  async takeFlow(
    stateHash: string,
    now: number,
    finisher: InstanceId,
  ): Promise<OAuthFlow | undefined> {
    const hash = keepText(stateHash)
    if ((await this.#tx.run(takeFlow, [hash, now, keepText(finisher)])) === 0) return undefined
    return readOne(this.#tx, oauthFlows, flowOfState, [hash])
  }

  async closeFlow(flow: OAuthFlow): Promise<boolean> {
    return (await this.#tx.run(replaceFlow, oauthFlows.keep(flow))) === 1
  }

  async dropFlows(before: number): Promise<void> {
    await this.#tx.run('DELETE FROM oauth_flows WHERE expires_at < $1', [before])
  }

  async takeLease(lease: RefreshLease): Promise<boolean> {
    return (await this.#tx.run(takeLease, refreshLeases.keep(lease))) === 1
  }

  async moveLease(intentId: IntentId, lease: RefreshLease): Promise<boolean> {
    return (await this.#tx.run(moveLease, [...refreshLeases.keep(lease), intentId])) === 1
  }

  async dropLease(credentialId: CredentialId, intentId: IntentId): Promise<boolean> {
    return (await this.#tx.run(dropLease, [credentialId, intentId])) === 1
  }
}
