/** One answer of the control API for each of its routes, as literals. */
import type { Answer, RouteName } from '@sallyport/protocol'
import { approval, approvalDetail, webhook } from './sample-approvals.ts'
import { at, digest, ids } from './sample-ids.ts'
import { denySet, service } from './sample-setup.ts'

const user = {
  id: ids.user,
  name: 'ada',
  role: 'admin',
  state: 'active',
  createdAt: at,
} as const

const token = {
  id: ids.token,
  state: 'active',
  userId: ids.user,
  user: 'ada',
  label: null,
  createdAt: at,
  expiresAt: null,
} as const

export const connection: Answer<'connection.show'> = {
  id: ids.connection,
  name: 'docs',
  state: 'enabled',
  scope: 'org',
  ownerId: null,
  transport: 'http',
  endpoint: 'https://mcp.example.com:443',
  auth: 'bearer',
  headerNames: ['X-Team'],
  missingScopes: [],
  credential: { id: ids.credential, version: 4, state: 'active', oauth: null },
  revision: 2,
  version: 9,
  required: false,
  limits: { callMs: 60_000, resultBytes: 4_194_304 },
  published: { catalogId: ids.catalog, number: 3 },
  observed: { digest, at, drift: false },
  health: { state: 'ok', code: null, at },
  condition: 'ok',
  createdAt: at,
  updatedAt: at,
}

const signIn: Answer<'connection.authorize'> = {
  id: 'flw_01jd0000000000000000000001',
  state: 'done',
  connection: 'docs',
  authorizeUrl: null,
  issuer: 'https://login.example.com',
  code: null,
  account: 'first',
  expiresAt: at,
}

const searchTool: Answer<'catalog.show'>['tools'][number] = {
  id: 'search',
  state: 'include',
  name: 'search',
  exposedName: 'search',
  title: 'Search',
  description: 'Finds pages.\nSays where they are.',
  inputSchema: { type: 'object', properties: { query: {}, limit: {} }, required: ['query'] },
  outputSchema: null,
  annotations: { readOnlyHint: true, destructiveHint: false },
  digest,
  access: 'read',
  note: null,
  flags: [],
  refusedBecause: null,
}

const catalog: Answer<'catalog.show'> = {
  id: ids.catalog,
  state: 'in_review',
  connection: 'docs',
  connectionRevision: 2,
  number: null,
  version: 5,
  era: 'modern',
  protocolVersion: '2026-07-28',
  serverInfo: { name: 'docs', version: '1' },
  digest,
  discoveredAt: at,
  publishedAt: null,
  tools: [
    searchTool,
    {
      ...searchTool,
      id: 'wipe',
      name: 'wipe',
      exposedName: 'wipe',
      state: 'exclude',
      access: 'write',
      title: null,
      description: 'Deletes\u202e everything\x1b[31m.',
      annotations: null,
      note: 'never',
      flags: [{ kind: 'bidirectional', where: 'description', text: 'Deletes\u202e' }],
      refusedBecause: 'pattern uses a backreference',
    },
  ],
}

const grant: Answer<'profile.grant'>['items'][number] = {
  id: ids.grant,
  state: 'active',
  profileId: ids.profile,
  connectionId: ids.connection,
  connection: 'docs',
  tool: 'search',
  mode: 'read',
  limits: {},
  digest,
  ownerId: null,
  createdAt: at,
}

const profile: Answer<'profile.show'> = {
  id: ids.profile,
  name: 'dev',
  state: 'active',
  settings: {
    interactive: true,
    isolation: ['external'],
    harnesses: [],
    approvalTtlSeconds: 3600,
    holdSeconds: 300,
    retainDays: 30,
    keepReads: false,
    maxAgeSeconds: 43_200,
    actors: ['role:member'],
    idleSeconds: 7200,
    verifyWithinSeconds: 300,
    personal: 'none',
    sandboxPolicy: null,
  },
  grants: [grant],
  createdAt: at,
}

const endpoint = 'http://127.0.0.1:7401/mcp'
const connections = [{ name: 'docs', endpoint: `${endpoint}/docs`, tools: 1 }]
const unavailable = [
  {
    connection: 'wiki',
    tool: null,
    code: 'connection_disabled',
    reason: 'The connection is disabled.',
  },
]

const session: Answer<'session.show'> = {
  id: ids.session,
  state: 'open',
  profile: 'dev',
  owner: 'ada',
  isolation: 'external',
  label: null,
  continues: null,
  createdAt: at,
  expiresAt: at,
  endedAt: null,
  endReason: null,
  endpoint,
  connections,
  tools: [
    {
      name: 'docs__search',
      connection: 'docs',
      tool: 'search',
      mode: 'read',
      bindingHash: digest,
      state: 'callable',
      shown: false,
    },
  ],
  unavailable,
  sandbox: null,
  denySet: { revision: 4, confirmed: null, confirmedAt: null, directAccess: 'not_denied' },
}

export const sessionToken = 'sessionTokenThatOnlyTheSandboxMayKnow0123456'

const sessionCreated: Answer<'session.create'> = {
  id: ids.session,
  state: 'open',
  endpoint,
  token: sessionToken,
  connections,
  unavailable,
  denySet,
}

export const execution: Answer<'execution.list'>['items'][number] = {
  id: ids.execution,
  state: 'succeeded',
  sessionId: ids.session,
  connection: 'docs',
  tool: 'search',
  callId: 'call-1',
  mode: 'read',
  access: 'read',
  code: null,
  field: null,
  argumentsDigest: digest,
  bindingHash: digest,
  approvalId: null,
  intentId: 'int_01jd0000000000000000000001',
  resultDigest: digest,
  resultBytes: 12,
  arrivedAt: at,
  barrierAt: at,
  notAfter: at,
  finishedAt: at,
  tookMs: 12.4,
  caller: null,
  collectedAt: null,
  resolution: null,
  notes: {},
}

const executionDetail: Answer<'execution.show'> = {
  ...execution,
  arguments: '{"query":"tea"}',
  result: '{"content":[{"type":"text","text":"Two pages."}]}',
}

const resolved: Answer<'execution.resolve'> = {
  ...execution,
  state: 'resolved',
  mode: 'write_with_approval',
  access: 'write',
  caller: 'detached',
  resolution: { outcome: 'applied', by: 'ada', note: 'the page is there', at, allowRetry: false },
}

export const status: Answer<'status.show'> = {
  release: '0.1.0',
  build: 'source',
  instance: 'ins_01jd0000000000000000000001',
  startedAt: at,
  database: 'sqlite',
  worker: { state: 'up', instance: 'w1', release: '0.1.0', pid: 4711 },
  paused: null,
  connections: 1,
  sessions: 1,
  dispatching: 0,
  pendingApprovals: 0,
  unknown: 0,
}

const vaultKeys: Answer<'keys.show'> = {
  source: 'file',
  items: [
    {
      id: 'newKid',
      state: 'sealing',
      fingerprint: 'SHA256:newKid',
      madeAt: at,
      retiredAt: null,
      seals: 3,
    },
  ],
  rotation: { state: 'done', left: 0, stuck: [] },
}

const setting: Answer<'setting.set'> = {
  id: 'durableReads',
  state: 'set',
  value: true,
  default: false,
  unit: 'yes or no',
  bounds: 'true, false',
  who: 'administrator',
  description: 'Reads wait for the flush too.',
}

const diff: Answer<'catalog.diff'> = {
  against: 3,
  same: false,
  added: ['new_tool'],
  removed: ['old_tool'],
  renamed: [{ from: 'find', to: 'search' }],
  changed: [{ name: 'wipe', what: ['description', 'inputSchema'] }],
}

export const secretToken = 'apiTokenThatOnlyItsFileMayHold'

export const sampleAnswers: { [N in RouteName]: Answer<N> } = {
  'status.show': status,
  'doctor.run': { items: [{ id: 'worker', state: 'ok', text: 'up', who: null, next: null }] },
  'whoami.show': user,
  'vault.show': {
    kid: 'set by the test',
    jwk: { kty: 'OKP', crv: 'X25519', x: '' },
    localUpstreams: false,
  },
  'keys.show': vaultKeys,
  'keys.rotate': vaultKeys,
  'user.list': { items: [user] },
  'user.create': user,
  'user.disable': { ...user, state: 'disabled' },
  'token.list': { items: [token] },
  'token.create': { token, secret: secretToken },
  'token.revoke': { ...token, state: 'revoked' },
  'connection.list': { items: [connection] },
  'connection.create': { ...connection, state: 'draft', plaintext: false },
  'connection.show': connection,
  'connection.edit': { ...connection, plaintext: false },
  'connection.remove': { ...connection, state: 'deleted' },
  'connection.enable': connection,
  'connection.authorize': signIn,
  'connection.authorization': signIn,
  'connection.disconnect': { ...connection, revocation: 'revoked' },
  'connection.disable': { ...connection, state: 'disabled' },
  'connection.test': {
    id: ids.connection,
    state: 'ok',
    code: null,
    era: 'modern',
    tools: 2,
    tookMs: 31.5,
  },
  'connection.refresh': connection,
  'catalog.discover': catalog,
  'catalog.show': catalog,
  'catalog.diff': diff,
  'catalog.review': catalog,
  'catalog.publish': { ...catalog, state: 'published', number: 4, publishedAt: at },
  'catalog.withdraw': { ...catalog, state: 'withdrawn', number: 1 },
  'profile.list': { items: [profile] },
  'profile.create': { ...profile, grants: [] },
  'profile.show': profile,
  'profile.grant': { items: [grant] },
  'profile.revoke': { items: [{ ...grant, state: 'revoked' }] },
  'session.list': { items: [session] },
  'session.create': sessionCreated,
  'session.show': session,
  'session.end': { ...session, state: 'ended', endReason: 'asked' },
  'session.evidence': session,
  'session.heartbeat': { id: session.id, state: 'open', endReason: null, prove: false, denySet: 4 },
  'session.denySet': denySet,
  'session.confirmDenySet': {
    revision: 4,
    confirmed: 4,
    confirmedAt: at,
    directAccess: 'denied',
  },
  'denySet.show': { ...denySet, inForce: 4, pending: [], operator: [] },
  'denySet.edit': { ...denySet, inForce: 4, pending: [], operator: [] },
  'service.list': { items: [service], problem: null },
  'service.create': service,
  'service.remove': service,
  'execution.list': { items: [execution] },
  'execution.show': executionDetail,
  'execution.resolve': resolved,
  'approval.list': { items: [approval] },
  'approval.show': approvalDetail,
  'approval.approve': { ...approval, state: 'approved', mayApprove: false },
  'approval.deny': {
    ...approval,
    state: 'denied',
    closedAt: at,
    mayApprove: false,
    mayDeny: false,
  },
  'webhook.list': { items: [webhook] },
  'webhook.create': { ...webhook, plaintext: false },
  'webhook.enable': webhook,
  'webhook.remove': webhook,
  'webhook.test': webhook,
  'audit.export': {
    lines: ['{"journal":{"v":1,"at":1796040000000,"from":null}}', '{"end":{"checkpoint":null}}'],
    next: null,
    resume: '0.0',
  },
  'audit.executions': { items: [] },
  'pause.set': {
    ...status,
    paused: { writesOnly: true, note: 'moving', by: 'ada', at },
  },
  'pause.clear': status,
  'setting.list': { items: [setting] },
  'setting.set': setting,
  'setting.unset': { ...setting, state: 'default', value: false },
}
