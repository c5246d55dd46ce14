/** Valid rows for the contract, each with an id of its own; what a test is about is given. */
import type {
  ApiToken,
  Approval,
  Binding,
  Body,
  Catalog,
  CatalogTool,
  Connection,
  Credential,
  Execution,
  Grant,
  Instance,
  JournalPage,
  JournalStream,
  Observation,
  Profile,
  Scope,
  Session,
  User,
  Webhook,
  WebhookDelivery,
} from '@sallyport/core'
import { idSource, profileSettings } from '@sallyport/protocol'
import { digestBytes } from '@sallyport/protocol/node'

/** Every clock of the contract starts here. */
export const start = 1_800_000_000_000

let seed = 0
export const newId = idSource(
  () => start,
  (size) => new Uint8Array(size).map((_, i) => (i === 1 ? seed++ : 0)),
)

let serial = 0
const word = (kind: string) => `${kind}-${++serial}`
const digest = (digit: string) => `sha256:${digit.repeat(64)}`

export function exampleUser(given: Partial<User> = {}): User {
  return {
    id: newId('user'),
    name: word('user'),
    role: 'member',
    createdAt: start,
    disabledAt: null,
    ...given,
  }
}

export function exampleToken(given: Partial<ApiToken> = {}): ApiToken {
  return {
    id: newId('token'),
    userId: newId('user'),
    hash: word('sha256:token'),
    label: 'laptop',
    createdAt: start,
    expiresAt: start + 1000,
    revokedAt: null,
    ...given,
  }
}

export const orgScope = 'org' as Scope

export function exampleConnection(given: Partial<Connection> = {}): Connection {
  return {
    id: newId('connection'),
    name: word('wiki'),
    scope: orgScope,
    ownerId: null,
    transport: 'http',
    state: 'enabled',
    revision: 1,
    version: 1,
    required: false,
    limits: { callMs: 60_000, resultBytes: 4_194_304 },
    endpointSeal: 'header..iv.text.tag',
    endpointClear: { scheme: 'https', host: 'wiki.example', port: 443 },
    credentialId: null,
    publishedId: null,
    everEnabled: true,
    health: { state: 'ok', code: null, at: start },
    createdAt: start,
    updatedAt: start,
    ...given,
  }
}

export function exampleObservation(given: Partial<Observation> = {}): Observation {
  return {
    connectionId: newId('connection'),
    connectionRevision: 1,
    digest: digest('1'),
    at: start,
    tools: { search: digest('2'), edit: digest('3') },
    ...given,
  }
}

export function exampleCredential(given: Partial<Credential> = {}): Credential {
  return {
    id: newId('credential'),
    connectionId: newId('connection'),
    version: 1,
    state: 'active',
    seal: 'header..iv.text.tag',
    clear: { bearer: true, headerNames: ['x-team'] },
    createdAt: start,
    updatedAt: start,
    ...given,
  }
}

export function exampleCatalog(given: Partial<Catalog> = {}): Catalog {
  return {
    id: newId('catalog'),
    connectionId: newId('connection'),
    connectionRevision: 1,
    number: null,
    state: 'discovered',
    version: 1,
    era: 'modern',
    protocolVersion: '2026-07-28',
    serverInfo: { name: 'wiki', version: '1.0' },
    digest: digest('4'),
    discoveredAt: start,
    discoveredBy: newId('user'),
    reviewedBy: null,
    publishedBy: null,
    publishedAt: null,
    ...given,
  }
}

export function exampleTool(given: Partial<CatalogTool> = {}): CatalogTool {
  return {
    name: word('tool'),
    exposedName: 'search',
    title: null,
    description: 'Searches.',
    inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
    outputSchema: null,
    annotations: { readOnlyHint: true },
    digest: digest('5'),
    access: 'write',
    decision: 'exclude',
    note: null,
    flags: [{ kind: 'invisible', where: '/description', text: '\u{200b}' }],
    refusedBecause: null,
    ...given,
  }
}

export function exampleProfile(given: Partial<Profile> = {}): Profile {
  return {
    id: newId('profile'),
    name: word('profile'),
    state: 'active',
    settings: profileSettings.parse({}),
    createdAt: start,
    ...given,
  }
}

export function exampleGrant(given: Partial<Grant> = {}): Grant {
  return {
    id: newId('grant'),
    profileId: newId('profile'),
    connectionId: newId('connection'),
    tool: word('tool'),
    mode: 'read',
    limits: { fixed: { space: 'docs' }, rate: { count: 10, seconds: 60 } },
    digest: digest('6'),
    ownerId: null,
    createdBy: newId('user'),
    createdAt: start,
    revokedAt: null,
    ...given,
  }
}

export function exampleSession(given: Partial<Session> = {}): Session {
  const id = given.id ?? newId('session')
  return {
    id,
    profileId: newId('profile'),
    ownerId: newId('user'),
    state: 'open',
    tokenHash: word('sha256:session'),
    isolation: 'external',
    label: null,
    harness: 'codex',
    chainId: id,
    continues: null,
    evidence: { vouchedBy: 'platform' },
    createdBy: newId('user'),
    createdAt: start,
    openedAt: start,
    expiresAt: start + 10_000,
    idleMs: 1000,
    lastCallAt: start,
    endedAt: null,
    endReason: null,
    unavailable: [{ connection: 'wiki', tool: null, code: 'not_published', reason: 'none' }],
    ...given,
  }
}

export function exampleBinding(given: Partial<Binding> = {}): Binding {
  return {
    id: newId('binding'),
    sessionId: newId('session'),
    connectionName: 'wiki',
    exposedName: word('tool'),
    connectionId: newId('connection'),
    connectionRevision: 1,
    scope: orgScope,
    credentialId: null,
    catalogId: newId('catalog'),
    tool: 'search',
    toolDigest: digest('5'),
    grantId: newId('grant'),
    grantDigest: digest('6'),
    inputSchemaDigest: digest('7'),
    shownSchemaDigest: digest('8'),
    mode: 'read',
    access: 'read',
    limits: { callMs: 60_000, resultBytes: 4_194_304, verifyWithinMs: 300_000 },
    digestVersion: 1,
    hash: digest('9'),
    ...given,
  }
}

export function exampleExecution(given: Partial<Execution> = {}): Execution {
  const sessionId = given.sessionId ?? newId('session')
  return {
    id: newId('execution'),
    sessionId,
    ownerId: newId('user'),
    callId: word('call'),
    state: 'dispatching',
    code: null,
    field: null,
    connectionId: newId('connection'),
    connectionName: 'wiki',
    tool: 'search',
    mode: 'read',
    access: 'read',
    bindingId: newId('binding'),
    bindingHash: digest('9'),
    grantId: newId('grant'),
    argumentsDigest: digest('a'),
    digestVersion: 1,
    writeKey: null,
    approvalId: null,
    intentId: newId('intent'),
    intentDigest: digest('b'),
    gatewayInstance: newId('instance'),
    workerInstance: 'ins_worker',
    notAfter: start + 75_000,
    intentIssuedAt: start,
    arrivedAt: start,
    barrierAt: start,
    finishedAt: null,
    resultDigest: null,
    resultBytes: null,
    tookMs: null,
    caller: null,
    callerInstance: null,
    isModern: false,
    collectedAt: null,
    chainId: sessionId,
    retainMs: null,
    resolution: null,
    notes: {},
    sequence: 1,
    ...given,
  }
}

/** Of a write that waits for its approval, with a caller that is there. */
export function exampleWaiting(given: Partial<Execution> = {}): Execution {
  return exampleExecution({
    state: 'awaiting_approval',
    mode: 'write_with_approval',
    access: 'write',
    writeKey: word('sha256:key'),
    approvalId: newId('approval'),
    intentId: null,
    intentDigest: null,
    workerInstance: null,
    notAfter: null,
    intentIssuedAt: null,
    barrierAt: null,
    caller: 'attached',
    callerInstance: newId('instance'),
    retainMs: 86_400_000,
    ...given,
  })
}

export function exampleApproval(given: Partial<Approval> = {}): Approval {
  return {
    id: newId('approval'),
    executionId: newId('execution'),
    sessionId: newId('session'),
    ownerId: newId('user'),
    callId: word('call'),
    bindingHash: digest('9'),
    argumentsDigest: digest('a'),
    digestVersion: 1,
    state: 'pending',
    approvers: 'owner',
    excludesRequester: false,
    decisions: [],
    requestedAt: start,
    expiresAt: start + 3_600_000,
    closedAt: null,
    ...given,
  }
}

export function exampleBody(given: Partial<Body> = {}): Body {
  return {
    executionId: newId('execution'),
    kind: 'arguments',
    sealed: new TextEncoder().encode(word('sealed')),
    dueAt: start + 86_400_000,
    ...given,
  }
}

export function exampleWebhook(given: Partial<Webhook> = {}): Webhook {
  return {
    id: newId('webhook'),
    name: word('pager'),
    seal: 'header..iv.text.tag',
    clear: { scheme: 'https', host: 'pager.example', port: 443 },
    events: ['approval.requested', 'execution.unknown'],
    createdBy: newId('user'),
    createdAt: start,
    lastDeliveredAt: null,
    lastFailure: null,
    goneAt: null,
    ...given,
  }
}

export function exampleDelivery(given: Partial<WebhookDelivery> = {}): WebhookDelivery {
  return {
    id: newId('delivery'),
    webhookId: newId('webhook'),
    event: 'approval.requested',
    text: `{"n":${++serial}}`,
    createdAt: start,
    attempts: 0,
    nextAt: start,
    ...given,
  }
}

export function exampleStream(given: Partial<JournalStream> = {}): JournalStream {
  return {
    id: newId('stream'),
    instance: newId('instance'),
    startedAt: start,
    covered: 0,
    endedAt: null,
    ...given,
  }
}

export function examplePage(given: Partial<JournalPage> = {}): JournalPage {
  const text = `{"example":${++serial}}`
  return { stream: newId('stream'), first: 1, last: 1, hash: digestBytes(text), text, ...given }
}

export function exampleInstance(given: Partial<Instance> = {}): Instance {
  return { id: newId('instance'), startedAt: start, leaseUntil: start + 15_000, ...given }
}
