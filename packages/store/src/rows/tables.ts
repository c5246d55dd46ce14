/** Every table of the store, by the rows of core. */
import {
  type ApiToken,
  type Approval,
  type Binding,
  type Body,
  bodyKinds,
  type Catalog,
  type CatalogTool,
  type Connection,
  type Credential,
  credentialStates,
  type Execution,
  type Grant,
  type Instance,
  type JournalCheckpoint,
  type JournalKey,
  type JournalStream,
  type KeptPage,
  type KnownKey,
  knownKeyStates,
  type Observation,
  type Profile,
  type Session,
  type SessionSandbox,
  type Setting,
  type User,
  type Webhook,
  type WebhookDelivery,
} from '@sallyport/core'
import {
  accesses,
  approvalStates,
  bornProcess,
  callerStates,
  catalogStates,
  connectionLimits,
  connectionStates,
  executionStates,
  grantLimits,
  isolationClasses,
  modes,
  profileSettings,
  roles,
  sandboxEvidence,
  sandboxPlan,
  sessionStates,
  transports,
  webhookEvents,
} from '@sallyport/protocol'
import {
  bytes,
  errorCode,
  flag,
  integer,
  json,
  list,
  object,
  oneOf,
  orNull,
  real,
  text,
} from './column.ts'
import { table } from './table.ts'

/** Checked against the schema, and kept as it was given. */
const fits =
  <T>(schema: { parse(value: unknown): unknown }) =>
  (value: unknown) => {
    schema.parse(value)
    return value as T
  }

export const users = table<User>('users', {
  id: text(),
  name: text(),
  role: oneOf(roles),
  createdAt: integer(),
  disabledAt: orNull(integer()),
})

export const tokens = table<ApiToken>('tokens', {
  id: text(),
  userId: text(),
  hash: text(),
  label: orNull(text()),
  createdAt: integer(),
  expiresAt: orNull(integer()),
  revokedAt: orNull(integer()),
})

export const connections = table<Connection>('connections', {
  id: text(),
  name: text(),
  scope: text(),
  ownerId: orNull(text()),
  transport: oneOf(transports),
  state: oneOf(connectionStates),
  revision: integer(),
  version: integer(),
  required: flag(),
  limits: json(fits(connectionLimits)),
  endpointSeal: orNull(text()),
  endpointClear: orNull(object()),
  credentialId: orNull(text()),
  publishedId: orNull(text()),
  everEnabled: flag(),
  health: object(),
  createdAt: integer(),
  updatedAt: integer(),
})

export const observations = table<Observation>('observations', {
  connectionId: text(),
  connectionRevision: integer(),
  digest: text(),
  at: integer(),
  tools: object(),
})

export const credentials = table<Credential>('credentials', {
  id: text(),
  connectionId: text(),
  version: integer(),
  state: oneOf(credentialStates),
  seal: text(),
  clear: object(),
  createdAt: integer(),
  updatedAt: integer(),
})

export const catalogs = table<Catalog>('catalogs', {
  id: text(),
  connectionId: text(),
  connectionRevision: integer(),
  number: orNull(integer()),
  state: oneOf(catalogStates),
  version: integer(),
  era: oneOf(['modern', 'legacy']),
  protocolVersion: text(),
  serverInfo: json(),
  digest: text(),
  discoveredAt: integer(),
  discoveredBy: text(),
  reviewedBy: orNull(text()),
  publishedBy: orNull(text()),
  publishedAt: orNull(integer()),
})

/** Kept with the id of its catalog; read without. */
export const catalogTools = table<CatalogTool>('catalog_tools', {
  name: text(),
  exposedName: text(),
  title: orNull(text()),
  description: orNull(text()),
  inputSchema: json(),
  outputSchema: json(),
  annotations: json(),
  digest: text(),
  access: oneOf(accesses),
  decision: oneOf(['include', 'exclude']),
  note: orNull(text()),
  flags: list(),
  refusedBecause: orNull(text()),
})

export const profiles = table<Profile>('profiles', {
  id: text(),
  name: text(),
  state: oneOf(['active', 'deleted']),
  /** A setting that a later release added has its default in older rows. */
  settings: json((value) => profileSettings.parse(value)),
  createdAt: integer(),
})

export const grants = table<Grant>('grants', {
  id: text(),
  profileId: text(),
  connectionId: text(),
  tool: text(),
  mode: oneOf(modes),
  limits: json(fits(grantLimits)),
  digest: text(),
  ownerId: orNull(text()),
  createdBy: text(),
  createdAt: integer(),
  revokedAt: orNull(integer()),
})

export const sessions = table<Session>('sessions', {
  id: text(),
  profileId: text(),
  ownerId: text(),
  state: oneOf(sessionStates),
  tokenHash: text(),
  isolation: oneOf(isolationClasses),
  label: orNull(text()),
  harness: orNull(text()),
  chainId: text(),
  continues: orNull(text()),
  evidence: json(),
  createdBy: text(),
  createdAt: integer(),
  openedAt: orNull(integer()),
  expiresAt: integer(),
  idleMs: integer(),
  lastCallAt: integer(),
  endedAt: orNull(integer()),
  endReason: orNull(text()),
  unavailable: list(),
})

export const sandboxes = table<SessionSandbox>('sandboxes', {
  sessionId: text(),
  plan: json(fits(sandboxPlan)),
  owner: json(fits(bornProcess)),
  ownerHash: text(),
  evidence: orNull(json(fits(sandboxEvidence))),
  provedAt: orNull(integer()),
  seenAt: integer(),
})

export const bindings = table<Binding>('bindings', {
  id: text(),
  sessionId: text(),
  connectionName: text(),
  exposedName: text(),
  connectionId: text(),
  connectionRevision: integer(),
  scope: text(),
  credentialId: orNull(text()),
  catalogId: text(),
  tool: text(),
  toolDigest: text(),
  grantId: text(),
  grantDigest: text(),
  inputSchemaDigest: text(),
  shownSchemaDigest: text(),
  mode: oneOf(modes),
  access: oneOf(accesses),
  limits: object(),
  digestVersion: integer(),
  hash: text(),
})

export const executions = table<Execution>('executions', {
  id: text(),
  sessionId: text(),
  ownerId: text(),
  callId: text(),
  state: oneOf(executionStates),
  code: orNull(errorCode()),
  field: orNull(text()),
  connectionId: orNull(text()),
  connectionName: text(),
  tool: text(),
  mode: orNull(oneOf(modes)),
  access: orNull(oneOf(accesses)),
  bindingId: orNull(text()),
  bindingHash: orNull(text()),
  grantId: orNull(text()),
  argumentsDigest: orNull(text()),
  digestVersion: integer(),
  writeKey: orNull(text()),
  approvalId: orNull(text()),
  intentId: orNull(text()),
  intentDigest: orNull(text()),
  gatewayInstance: text(),
  workerInstance: orNull(text()),
  notAfter: orNull(integer()),
  intentIssuedAt: orNull(integer()),
  arrivedAt: integer(),
  barrierAt: orNull(integer()),
  finishedAt: orNull(integer()),
  resultDigest: orNull(text()),
  resultBytes: orNull(integer()),
  tookMs: orNull(real()),
  caller: orNull(oneOf(callerStates)),
  callerInstance: orNull(text()),
  isModern: flag(),
  collectedAt: orNull(integer()),
  chainId: text(),
  retainMs: orNull(integer()),
  resolution: orNull(object()),
  notes: object(),
  sequence: integer(),
})

export const approvals = table<Approval>('approvals', {
  id: text(),
  executionId: text(),
  sessionId: text(),
  ownerId: text(),
  callId: text(),
  bindingHash: text(),
  argumentsDigest: text(),
  digestVersion: integer(),
  state: oneOf(approvalStates),
  approvers: text(),
  excludesRequester: flag(),
  decisions: list(),
  requestedAt: integer(),
  expiresAt: integer(),
  closedAt: orNull(integer()),
})

export const bodies = table<Body>('bodies', {
  executionId: text(),
  kind: oneOf(bodyKinds),
  sealed: bytes(),
  dueAt: integer(),
})

export const journalStreams = table<JournalStream>('journal_streams', {
  id: text(),
  instance: text(),
  startedAt: integer(),
  covered: integer(),
  endedAt: orNull(integer()),
})

/** The database gives each its position. */
export const journalPages = table<KeptPage>('journal_pages', {
  position: integer(),
  stream: text(),
  first: integer(),
  last: integer(),
  hash: text(),
  text: text(),
})

export const journalCheckpoints = table<JournalCheckpoint>('journal_checkpoints', {
  sequence: integer(),
  at: integer(),
  position: integer(),
  jws: text(),
})

export const journalKeys = table<JournalKey>('journal_keys', {
  kid: text(),
  jwk: object(),
  at: integer(),
})

export const instances = table<Instance>('instances', {
  id: text(),
  startedAt: integer(),
  leaseUntil: integer(),
})

export const settings = table<Setting>('settings', {
  name: text(),
  value: json(),
  by: text(),
  at: integer(),
})

export const vaultKeys = table<KnownKey>('vault_keys', {
  kid: text(),
  position: integer(),
  state: oneOf(knownKeyStates),
  madeAt: orNull(integer()),
  retiredAt: orNull(integer()),
})

export const webhooks = table<Webhook>('webhooks', {
  id: text(),
  name: text(),
  seal: text(),
  clear: object(),
  events: list(),
  createdBy: text(),
  createdAt: integer(),
  lastDeliveredAt: orNull(integer()),
  lastFailure: orNull(object()),
  goneAt: orNull(integer()),
})

export const deliveries = table<WebhookDelivery>('deliveries', {
  id: text(),
  webhookId: text(),
  event: oneOf(webhookEvents),
  text: text(),
  createdAt: integer(),
  attempts: integer(),
  nextAt: integer(),
})

export * from './deny-tables.ts'
export * from './oauth-tables.ts'
export * from './service-tables.ts'
