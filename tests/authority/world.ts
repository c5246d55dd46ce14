/** A small Sallyport without processes: a store, people, a vault key, and short ways to what tests begin with. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  type Actor,
  bringDenySet,
  type Connection,
  createConnection,
  createProfile,
  createUser,
  type Deps,
  type Destinations,
  enableConnection,
  grantTools,
  Journal,
  type Mode,
  publishCatalog,
  reviewCatalog,
  type Store,
  saveDiscovery,
} from '@sallyport/core'
import {
  type CredentialId,
  type ErrorCode,
  type GrantLimits,
  idSource,
  type ProfileSettings,
  profileSettings,
  type Role,
} from '@sallyport/protocol'
import {
  type Listing,
  listingDigest,
  sealConnection,
  thumbprint,
  toolDigest,
  type VaultKey,
} from '@sallyport/protocol/node'
import { openMemoryStore } from '@sallyport/store'
import { sampleSigner } from '../../packages/protocol/src/journal/sample-journal.ts'

export const destinations: Destinations = { localAllowed: true, isOwn: ({ port }) => port === 7400 }

function newVaultKey(): VaultKey {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
  const jwk = { kty: 'OKP', crv: 'X25519', x } as const
  return { kid: thumbprint(jwk), jwk, privateKey }
}

export interface Tool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: unknown
}

export function listingOf(...tools: readonly (string | Tool)[]): Listing {
  const listed = tools
    .map((tool) => (typeof tool === 'string' ? { name: tool } : tool))
    .map((tool) => ({ inputSchema: { type: 'object' }, ...tool }))
    .map((tool) => ({ ...tool, digest: toolDigest(tool) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  return {
    era: 'modern',
    protocolVersion: '2026-07-28',
    capabilities: [],
    tools: listed,
    digest: listingDigest(listed),
  }
}

export interface World {
  readonly deps: Deps
  readonly store: Store
  readonly key: VaultKey
  readonly admin: Actor
  readonly alice: Actor
  readonly bob: Actor
}

/** The administrator `admin`, the members `alice` and `bob`. `now` is the clock of its own database. */
export async function newWorld(given?: Store, now: () => number = Date.now): Promise<World> {
  const store = given ?? openMemoryStore({ now })
  const ids = idSource(Date.now, randomBytes)
  const instance = ids('instance')
  const journal = new Journal({ store, ids, now: Date.now, instance, signer: sampleSigner() })
  const deps: Deps = { store, journal, ids, random: randomBytes }
  const admin: Actor = { userId: deps.ids('user'), role: 'admin' }
  await store.transact(async (tx) => {
    const createdAt = await tx.now()
    const row = { id: admin.userId, name: 'admin', role: 'admin', createdAt, disabledAt: null }
    await tx.users.insert(row as Parameters<typeof tx.users.insert>[0])
  })
  const add = async (name: string, role: Role): Promise<Actor> => {
    const { id } = await createUser(deps, admin, { name, role })
    return { userId: id, role }
  }
  return {
    deps,
    store,
    key: newVaultKey(),
    admin,
    alice: await add('alice', 'member'),
    bob: await add('bob', 'member'),
  }
}

export interface Wanted {
  readonly name?: string
  readonly scope?: string
  readonly url?: string
  readonly token?: string
  readonly headers?: readonly { readonly name: string; readonly value: string }[]
  readonly required?: boolean
}

/** A draft, sealed as the command line seals. */
export function addConnection(
  { deps, key }: World,
  actor: Actor,
  wanted: Wanted = {},
): Promise<Connection> {
  const {
    name = 'docs',
    scope = 'org',
    url = 'https://docs.example.com/mcp',
    required = false,
  } = wanted
  const id = deps.ids('connection')
  const sealed = sealConnection({
    url,
    token: wanted.token,
    headers: wanted.headers ?? [],
    connectionId: id,
    credentialId: deps.ids('credential'),
    scope: scope === 'personal' ? `personal:${actor.userId}` : scope,
    revision: 1,
    credentialVersion: 1,
    key,
    localAllowed: true,
  })
  const input = { id, name, scope, transport: 'http', required, limits: {}, ...sealed } as const
  return createConnection(deps, actor, input, destinations)
}

export async function discover(
  { deps, store }: World,
  actor: Actor,
  { id }: Pick<Connection, 'id'>,
  listing: Listing,
) {
  const connection = await store.connections.get(id)
  if (!connection) throw new Error('no such connection')
  const { credentialId, revision } = connection
  const credential = credentialId && (await store.credentials.get(credentialId as CredentialId))
  const asked = {
    connectionId: id,
    connectionRevision: revision,
    credentialId,
    credentialVersion: credential ? credential.version : null,
  }
  return saveDiscovery(deps, actor, asked, listing)
}

export const nothingDecided = { include: [], exclude: [], read: [], write: [], notes: {} }

/** Discovers, includes every tool, reads those called `get_…` as reads, publishes. */
export async function publish(
  world: World,
  actor: Actor,
  connection: Pick<Connection, 'id'>,
  listing: Listing,
) {
  await discover(world, actor, connection, listing)
  const hasReads = listing.tools.some(({ name }) => name.startsWith('get_'))
  const decisions = { ...nothingDecided, include: ['*'], read: hasReads ? ['get_*'] : [] }
  await reviewCatalog(world.deps, actor, connection.id, decisions)
  return publishCatalog(world.deps, actor, connection.id)
}

/** What connections lead to is denied to guests from now on: before, none can be enabled. */
export async function deny({ deps }: Pick<World, 'deps'>): Promise<void> {
  await bringDenySet(deps, { settleSession: async () => undefined })
}

/** Added, published, enabled. */
export async function enabledConnection(
  world: World,
  actor: Actor,
  wanted: Wanted = {},
  listing: Listing = listingOf('get_page', 'put_page'),
): Promise<Connection> {
  const connection = await addConnection(world, actor, wanted)
  await publish(world, actor, connection, listing)
  await deny(world)
  return enableConnection(world.deps, actor, connection.id)
}

export function addProfile(
  { deps, admin }: World,
  name: string,
  settings: Partial<ProfileSettings> = {},
) {
  return createProfile(deps, admin, { name, settings: profileSettings.parse(settings) })
}

export function grant(
  { deps }: World,
  actor: Actor,
  profile: string,
  connection: Connection,
  tools: string,
  mode: Mode,
  limits: GrantLimits = {},
) {
  const confirmUnattended = mode === 'write_unattended'
  const asked = { profile, connection: connection.id, tools, mode, limits, confirmUnattended }
  return grantTools(deps, actor, asked)
}

/** For `rejects.toMatchObject`. */
export function code(name: ErrorCode, field?: string) {
  return { code: name, ...(field === undefined ? {} : { field }) }
}

/** Seals for the next version of what a connection has now. */
export async function sealedAgain(
  { store, deps, key }: World,
  id: Connection['id'],
  secrets: { readonly url?: string; readonly token?: string },
  credentialId?: CredentialId,
) {
  const connection = await store.connections.get(id)
  if (!connection) throw new Error('no such connection')
  const present =
    credentialId === undefined && connection.credentialId
      ? await store.credentials.get(connection.credentialId)
      : undefined
  return sealConnection({
    url: secrets.url ?? 'https://docs.example.com/mcp',
    token: secrets.token,
    headers: [],
    connectionId: id,
    credentialId: credentialId ?? present?.id ?? deps.ids('credential'),
    scope: connection.scope,
    revision: connection.revision + 1,
    credentialVersion: (present?.version ?? 0) + 1,
    key,
    localAllowed: true,
  })
}
