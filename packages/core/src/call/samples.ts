/** Rows for tests of the call path: one session, one tool, everything in order at the time 10,000. */
import type {
  BindingId,
  CatalogId,
  ConnectionId,
  CredentialId,
  GrantId,
  ProfileId,
  SessionId,
  UserId,
} from '@sallyport/protocol'
import { profileSettings } from '@sallyport/protocol'
import type { Binding } from '../binding/binding.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Connection, Scope } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { Grant } from '../grant/grant.ts'
import type { Profile } from '../profile/profile.ts'
import type { Session } from '../session/session.ts'
import type { Authority } from '../store.ts'
import type { BoundTool } from './toolset.ts'

const body = '00000000000000000000000001'
const ids = {
  session: `ses_${body}` as SessionId,
  user: `usr_${body}` as UserId,
  profile: `pro_${body}` as ProfileId,
  connection: `con_${body}` as ConnectionId,
  credential: `crd_${body}` as CredentialId,
  catalog: `cat_${body}` as CatalogId,
  grant: `gra_${body}` as GrantId,
  binding: `bnd_${body}` as BindingId,
}

const digest = (char: string): string => `sha256:${char.repeat(64)}`

export function aSession(change: Partial<Session> = {}): Session {
  return {
    id: ids.session,
    profileId: ids.profile,
    ownerId: ids.user,
    state: 'open',
    tokenHash: digest('0'),
    isolation: 'external',
    label: null,
    harness: null,
    chainId: ids.session,
    continues: null,
    evidence: null,
    createdBy: ids.user,
    createdAt: 1_000,
    openedAt: 1_000,
    expiresAt: 1_000_000_000,
    idleMs: 1_000_000_000,
    lastCallAt: 1_000,
    endedAt: null,
    endReason: null,
    unavailable: [],
    ...change,
  }
}

export function aBinding(change: Partial<Binding> = {}): Binding {
  return {
    id: ids.binding,
    sessionId: ids.session,
    connectionName: 'counter',
    exposedName: 'read',
    connectionId: ids.connection,
    connectionRevision: 1,
    scope: 'org' as Scope,
    credentialId: ids.credential,
    catalogId: ids.catalog,
    tool: 'read',
    toolDigest: digest('a'),
    grantId: ids.grant,
    grantDigest: digest('b'),
    inputSchemaDigest: digest('c'),
    shownSchemaDigest: digest('c'),
    mode: 'read',
    access: 'read',
    limits: { callMs: 5_000, resultBytes: 100_000, verifyWithinMs: 300_000 },
    digestVersion: 1,
    hash: digest('d'),
    ...change,
  }
}

/** Takes every argument text as it is. */
export function aTool(change: Partial<Binding> = {}, more: Partial<BoundTool> = {}): BoundTool {
  return {
    binding: aBinding(change),
    title: null,
    description: null,
    inputSchema: { type: 'object' },
    outputSchema: null,
    annotations: null,
    grantLimits: {},
    paramHeaders: [],
    effective: (text) => ({ ok: true, text }),
    ...more,
  }
}

export function aConnection(change: Partial<Connection> = {}): Connection {
  return {
    id: ids.connection,
    name: 'counter',
    scope: 'org' as Scope,
    ownerId: null,
    transport: 'http',
    state: 'enabled',
    revision: 1,
    version: 1,
    required: false,
    limits: { callMs: 5_000, resultBytes: 100_000 },
    endpointSeal: 'endpoint-seal',
    endpointClear: { scheme: 'https', host: 'mcp.example', port: 443 },
    credentialId: ids.credential,
    publishedId: ids.catalog,
    everEnabled: true,
    health: { state: 'ok', code: null, at: 1_000 },
    createdAt: 1_000,
    updatedAt: 1_000,
    ...change,
  }
}

export function aCredential(change: Partial<Credential> = {}): Credential {
  return {
    id: ids.credential,
    connectionId: ids.connection,
    version: 1,
    state: 'active',
    seal: 'credential-seal',
    clear: { bearer: true, headerNames: [] },
    createdAt: 1_000,
    updatedAt: 1_000,
    ...change,
  }
}

export function aCatalog(change: Partial<Catalog> = {}): Catalog {
  return {
    id: ids.catalog,
    connectionId: ids.connection,
    connectionRevision: 1,
    number: 1,
    state: 'published',
    version: 1,
    era: 'modern',
    protocolVersion: '2026-07-28',
    serverInfo: null,
    digest: digest('e'),
    discoveredAt: 1_000,
    discoveredBy: ids.user,
    reviewedBy: ids.user,
    publishedBy: ids.user,
    publishedAt: 1_000,
    ...change,
  }
}

export function aProfile(change: Partial<Profile> = {}): Profile {
  return {
    id: ids.profile,
    name: 'coding',
    state: 'active',
    settings: profileSettings.parse({}),
    createdAt: 1_000,
    ...change,
  }
}

export function aGrant(change: Partial<Grant> = {}): Grant {
  return {
    id: ids.grant,
    profileId: ids.profile,
    connectionId: ids.connection,
    tool: 'read',
    mode: 'read',
    limits: {},
    digest: digest('b'),
    ownerId: null,
    createdBy: ids.user,
    createdAt: 1_000,
    revokedAt: null,
    ...change,
  }
}

export function anAuthority(
  change: {
    session?: Partial<Session>
    connection?: Partial<Connection>
    credential?: Partial<Credential>
    catalog?: Partial<Catalog>
    profile?: Partial<Profile>
    grant?: Partial<Grant>
  } = {},
): Authority {
  return {
    now: 10_000,
    connections: new Map([[ids.connection, aConnection(change.connection)]]),
    credentials: new Map([[ids.credential, aCredential(change.credential)]]),
    catalogs: new Map([[ids.catalog, aCatalog(change.catalog)]]),
    profiles: new Map([[ids.profile, aProfile(change.profile)]]),
    grants: new Map([[ids.grant, aGrant(change.grant)]]),
    sessions: new Map([[ids.session, aSession(change.session)]]),
    pause: undefined,
    busy: new Set(),
  }
}
