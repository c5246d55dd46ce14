/** For one session: exposed tool name → connection, catalog tool, mode, limits. Immutable, hashed; all are its toolset. */
import type {
  BindingId,
  CatalogId,
  ConnectionId,
  CredentialId,
  GrantId,
  SessionId,
} from '@sallyport/protocol'
import type { Access } from '../catalog/catalog.ts'
import type { Scope } from '../connection/connection.ts'
import type { Mode } from '../grant/grant.ts'

export interface BindingLimits {
  readonly callMs: number
  readonly resultBytes: number
  readonly verifyWithinMs: number
}

export interface Binding {
  readonly id: BindingId
  readonly sessionId: SessionId
  /** Name of the connection at binding time; `/mcp/<connection>`. */
  readonly connectionName: string
  /** The tool's name at `/mcp/<connection>`. At `/mcp` it is `<connection>__<exposedName>`. */
  readonly exposedName: string
  readonly connectionId: ConnectionId
  readonly connectionRevision: number
  readonly scope: Scope
  /** Not its version: a refreshed credential is the same one. */
  readonly credentialId: CredentialId | null
  readonly catalogId: CatalogId
  readonly tool: string
  readonly toolDigest: string
  readonly grantId: GrantId
  readonly grantDigest: string
  readonly inputSchemaDigest: string
  readonly shownSchemaDigest: string
  readonly mode: Mode
  readonly access: Access
  readonly limits: BindingLimits
  readonly digestVersion: number
  /** Over every other field but `id`. */
  readonly hash: string
}
