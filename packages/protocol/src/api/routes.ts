/**
 * The control API as one table: method, path, who may call, request and answer. The gateway serves it, the command line
 * and other clients call it, the OpenAPI document is generated from it. Lists answer `{items}`, each with `id` and `state`.
 */
import { z } from 'zod'
import { approval, approvalDecide, approvalDetail, approvalStates } from './approvals.ts'
import { auditedExecution, auditNext, auditPart, auditResume } from './audit.ts'
import { catalog, catalogDiff } from './catalogs.ts'
import {
  connection,
  connectionAuthorize,
  connectionChanged,
  connectionCreate,
  connectionDisconnected,
  connectionEdit,
  oauthFlow,
} from './connections.ts'
import { denyEdit, denySet, denySetState, sessionDenial } from './deny-set.ts'
import { execution, executionDetail, executionResolve, executionStates } from './executions.ts'
import { vaultKeys } from './keys.ts'
import { check, setting, status } from './operation.ts'
import { id, json, list, toolPattern } from './parts.ts'
import { grant, grantCreate, profile, profileSettings } from './profiles.ts'
import { service, serviceCreate, services } from './services.ts'
import {
  session,
  sessionConfirmDenySet,
  sessionCreate,
  sessionCreated,
  sessionEnd,
  sessionEvidence,
  sessionHeard,
  sessionHeartbeat,
  sessionStates,
} from './sessions.ts'
import { apiToken, type Role, roles, user } from './users.ts'
import { webhook, webhookCreate, webhookCreated } from './webhooks.ts'

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`; `{x}` is a path parameter. */
  readonly path: string
  readonly summary: string
  /** The least role; what else is checked depends on the scope and the owner. */
  readonly role: Role
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly answer: z.ZodType
}

const route = <const R extends Route>(r: R): R => r

/** Names as many as a catalog has, and some patterns: each of those is compared with every tool. */
const toolPatterns = z
  .array(toolPattern)
  .max(2000)
  .refine((all) => all.filter((one) => /[*?]/.test(one)).length <= 100, 'too many patterns')
  .default([])

export const routes = {
  'status.show': route({
    method: 'GET',
    path: '/status',
    summary: 'State of this Sallyport',
    role: 'member',
    answer: status,
  }),
  'doctor.run': route({
    method: 'GET',
    path: '/doctor',
    summary: 'Checks of the running system',
    role: 'admin',
    answer: list(check),
  }),
  'whoami.show': route({
    method: 'GET',
    path: '/whoami',
    summary: 'The user behind the token',
    role: 'member',
    answer: user,
  }),
  'vault.show': route({
    method: 'GET',
    path: '/vault/key',
    summary: 'Public key that secrets are sealed to',
    role: 'member',
    answer: z.object({
      kid: z.string(),
      jwk: z.object({ kty: z.literal('OKP'), crv: z.literal('X25519'), x: z.string() }),
      localUpstreams: z.boolean(),
    }),
  }),

  'keys.show': route({
    method: 'GET',
    path: '/vault/keys',
    summary: 'Keys of the vault, and how many secrets are sealed to each',
    role: 'member',
    answer: vaultKeys,
  }),
  'keys.rotate': route({
    method: 'POST',
    path: '/vault/keys/rotate',
    summary:
      'Make a new key; every secret is sealed to it again by and by, and older keys are retired',
    role: 'admin',
    answer: vaultKeys,
  }),

  'user.list': route({
    method: 'GET',
    path: '/users',
    summary: 'People',
    role: 'admin',
    answer: list(user),
  }),
  'user.create': route({
    method: 'POST',
    path: '/users',
    summary: 'Add a person',
    role: 'admin',
    body: z.strictObject({
      name: z.string().regex(/^[a-z0-9](?:[a-z0-9._@-]{0,62}[a-z0-9])?$/),
      role: z.enum(roles),
    }),
    answer: user,
  }),
  'user.disable': route({
    method: 'POST',
    path: '/users/{name}/disable',
    summary: 'Disable a person, end the sessions, revoke the tokens',
    role: 'admin',
    answer: user,
  }),
  'token.list': route({
    method: 'GET',
    path: '/tokens',
    summary: 'Tokens (an administrator sees all)',
    role: 'member',
    answer: list(apiToken),
  }),
  'token.create': route({
    method: 'POST',
    path: '/tokens',
    summary: 'Make a token',
    role: 'member',
    body: z.strictObject({
      user: z.string(),
      label: z.string().max(100).optional(),
      expiresDays: z.int().positive().max(3650).optional(),
    }),
    answer: z.object({ token: apiToken, secret: z.string().describe('shown once') }),
  }),
  'token.revoke': route({
    method: 'DELETE',
    path: '/tokens/{id}',
    summary: 'Revoke a token',
    role: 'member',
    answer: apiToken,
  }),

  'connection.list': route({
    method: 'GET',
    path: '/connections',
    summary: 'Connections the caller may see',
    role: 'member',
    answer: list(connection),
  }),
  'connection.create': route({
    method: 'POST',
    path: '/connections',
    summary: 'Add a connection (it starts as a draft)',
    role: 'member',
    body: connectionCreate,
    answer: connectionChanged,
  }),
  'connection.show': route({
    method: 'GET',
    path: '/connections/{name}',
    summary: 'One connection',
    role: 'member',
    answer: connection,
  }),
  'connection.edit': route({
    method: 'PATCH',
    path: '/connections/{name}',
    summary: 'Edit; what is not given stays',
    role: 'member',
    body: connectionEdit,
    answer: connectionChanged,
  }),
  'connection.remove': route({
    method: 'DELETE',
    path: '/connections/{name}',
    summary: 'Delete',
    role: 'member',
    answer: connection,
  }),
  'connection.enable': route({
    method: 'POST',
    path: '/connections/{name}/enable',
    summary: 'Enable (needs a published catalog)',
    role: 'member',
    answer: connection,
  }),
  'connection.disable': route({
    method: 'POST',
    path: '/connections/{name}/disable',
    summary: 'Disable; nothing passes afterwards',
    role: 'member',
    answer: connection,
  }),
  'connection.test': route({
    method: 'POST',
    path: '/connections/{name}/test',
    summary: 'Connect and list, change nothing',
    role: 'member',
    answer: z.object({
      id: id('con'),
      state: z.enum(['ok', 'failed']),
      code: z.string().nullable(),
      era: z.string().nullable(),
      tools: z.int().nullable(),
      tookMs: z.number(),
    }),
  }),
  'connection.refresh': route({
    method: 'POST',
    path: '/connections/{name}/refresh',
    summary: 'Drop upstream state and list again',
    role: 'member',
    answer: connection,
  }),
  'connection.authorize': route({
    method: 'POST',
    path: '/connections/{name}/authorize',
    summary: 'Begin a sign-in at the authorization server, or have client credentials ask it',
    role: 'member',
    body: connectionAuthorize.default({}),
    answer: oauthFlow,
  }),
  'connection.authorization': route({
    method: 'GET',
    path: '/connections/{name}/authorizations/{id}',
    summary: 'What became of a sign-in',
    role: 'member',
    answer: oauthFlow,
  }),
  'connection.disconnect': route({
    method: 'POST',
    path: '/connections/{name}/disconnect',
    summary: 'Revoke the credential; nothing passes with it afterwards',
    role: 'member',
    answer: connectionDisconnected,
  }),

  'service.list': route({
    method: 'GET',
    path: '/services',
    summary: 'Services that a connection can be added to by name',
    role: 'member',
    answer: services,
  }),
  'service.create': route({
    method: 'POST',
    path: '/services',
    summary: 'Offer a service',
    role: 'admin',
    body: serviceCreate,
    answer: service,
  }),
  'service.remove': route({
    method: 'DELETE',
    path: '/services/{name}',
    summary: 'Offer it no longer; connections to it stay',
    role: 'admin',
    answer: service,
  }),

  'catalog.discover': route({
    method: 'POST',
    path: '/connections/{name}/catalog/discover',
    summary: 'List the tools of the upstream into a new draft',
    role: 'member',
    answer: catalog,
  }),
  'catalog.show': route({
    method: 'GET',
    path: '/connections/{name}/catalog',
    summary: 'The newest draft, else the published revision; or revision N',
    role: 'member',
    query: z.object({ revision: z.coerce.number().int().optional() }),
    answer: catalog,
  }),
  'catalog.diff': route({
    method: 'POST',
    path: '/connections/{name}/catalog/diff',
    summary: 'What the upstream lists now, against the published revision',
    role: 'member',
    answer: catalogDiff,
  }),
  'catalog.review': route({
    method: 'POST',
    path: '/connections/{name}/catalog/review',
    summary: 'Decide about tools of the newest draft',
    role: 'member',
    body: z.strictObject({
      version: z.int().optional(),
      include: toolPatterns,
      exclude: toolPatterns,
      read: toolPatterns,
      write: toolPatterns,
      notes: z.record(z.string(), z.string().max(2000)).default({}),
    }),
    answer: catalog,
  }),
  'catalog.publish': route({
    method: 'POST',
    path: '/connections/{name}/catalog/publish',
    summary: 'Publish the reviewed draft',
    role: 'member',
    body: z.strictObject({ version: z.int().optional() }).default({}),
    answer: catalog,
  }),
  'catalog.withdraw': route({
    method: 'POST',
    path: '/connections/{name}/catalog/withdraw',
    summary: 'Withdraw a published or superseded revision',
    role: 'member',
    body: z.strictObject({ revision: z.int() }),
    answer: catalog,
  }),

  'profile.list': route({
    method: 'GET',
    path: '/profiles',
    summary: 'Profiles',
    role: 'member',
    answer: list(profile),
  }),
  'profile.create': route({
    method: 'POST',
    path: '/profiles',
    summary: 'Create a profile',
    role: 'admin',
    body: z.strictObject({
      name: z.string(),
      settings: profileSettings.strict().partial().default({}),
    }),
    answer: profile,
  }),
  'profile.show': route({
    method: 'GET',
    path: '/profiles/{name}',
    summary: 'One profile with its grants',
    role: 'member',
    answer: profile,
  }),
  'profile.grant': route({
    method: 'POST',
    path: '/profiles/{name}/grants',
    summary: 'Grant tools',
    role: 'member',
    body: grantCreate,
    answer: list(grant),
  }),
  'profile.revoke': route({
    method: 'POST',
    path: '/profiles/{name}/revoke',
    summary: 'Take grants back',
    role: 'member',
    body: z.strictObject({ connection: z.string(), tools: toolPattern }),
    answer: list(grant),
  }),

  'session.list': route({
    method: 'GET',
    path: '/sessions',
    summary: 'Sessions (an administrator sees all)',
    role: 'member',
    query: z.object({ state: z.enum(sessionStates).optional() }),
    answer: list(session),
  }),
  'session.create': route({
    method: 'POST',
    path: '/sessions',
    summary: 'Create and, for class external, open a session',
    role: 'member',
    body: sessionCreate,
    answer: sessionCreated,
  }),
  'session.show': route({
    method: 'GET',
    path: '/sessions/{id}',
    summary: 'One session',
    role: 'member',
    answer: session,
  }),
  'session.evidence': route({
    method: 'POST',
    path: '/sessions/{id}/evidence',
    summary: 'Show what was seen of the sandbox: it opens the session when it is as planned',
    role: 'member',
    body: sessionEvidence,
    answer: session,
  }),
  'session.heartbeat': route({
    method: 'POST',
    path: '/sessions/{id}/heartbeat',
    summary: 'Say that the launcher of the sandbox is there, and hear how the session is',
    role: 'member',
    body: sessionHeartbeat,
    answer: sessionHeard,
  }),
  'session.denySet': route({
    method: 'GET',
    path: '/sessions/{id}/deny-set',
    summary:
      'What its guest must never reach by itself: the set of its beginning and every later one',
    role: 'member',
    answer: denySet,
  }),
  'session.confirmDenySet': route({
    method: 'POST',
    path: '/sessions/{id}/deny-set/confirm',
    summary: 'Say that this set is enforced in its sandbox from now on',
    role: 'member',
    body: sessionConfirmDenySet,
    answer: sessionDenial,
  }),
  'session.end': route({
    method: 'POST',
    path: '/sessions/{id}/end',
    summary: 'End a session',
    role: 'member',
    body: sessionEnd,
    answer: session,
  }),

  'execution.list': route({
    method: 'GET',
    path: '/executions',
    summary: 'Executions, newest first (an administrator sees all)',
    role: 'member',
    query: z.object({
      session: z.string().optional(),
      state: z.enum(executionStates).optional(),
      limit: z.coerce.number().int().min(1).max(1000).default(100),
    }),
    answer: list(execution),
  }),
  'execution.show': route({
    method: 'GET',
    path: '/executions/{id}',
    summary: 'One execution, with its arguments and result where they are kept',
    role: 'member',
    answer: executionDetail,
  }),
  'execution.resolve': route({
    method: 'POST',
    path: '/executions/{id}/resolve',
    summary: 'Say what became of an execution whose outcome is unknown',
    role: 'member',
    body: executionResolve,
    answer: execution,
  }),

  'approval.list': route({
    method: 'GET',
    path: '/approvals',
    summary: 'Approvals that whoever asks may see, newest first',
    role: 'member',
    query: z.object({
      state: z.enum(approvalStates).optional(),
      session: z.string().optional(),
      limit: z.coerce.number().int().min(1).max(1000).default(100),
    }),
    answer: list(approval),
  }),
  'approval.show': route({
    method: 'GET',
    path: '/approvals/{id}',
    summary: 'One approval, with what would be sent',
    role: 'member',
    answer: approvalDetail,
  }),
  'approval.approve': route({
    method: 'POST',
    path: '/approvals/{id}/approve',
    summary: 'Let the call be sent, once',
    role: 'member',
    body: approvalDecide,
    answer: approval,
  }),
  'approval.deny': route({
    method: 'POST',
    path: '/approvals/{id}/deny',
    summary: 'Refuse the call',
    role: 'member',
    body: approvalDecide,
    answer: approval,
  }),

  'webhook.list': route({
    method: 'GET',
    path: '/webhooks',
    summary: 'Webhooks',
    role: 'admin',
    answer: list(webhook),
  }),
  'webhook.create': route({
    method: 'POST',
    path: '/webhooks',
    summary: 'Tell another system when somebody has something to decide',
    role: 'admin',
    body: webhookCreate,
    answer: webhookCreated,
  }),
  'webhook.enable': route({
    method: 'POST',
    path: '/webhooks/{id}/enable',
    summary: 'Switch on a webhook whose receiver said that it is gone (410)',
    role: 'admin',
    answer: webhook,
  }),
  'webhook.remove': route({
    method: 'DELETE',
    path: '/webhooks/{id}',
    summary: 'Remove a webhook; what waits for it is not delivered any more',
    role: 'admin',
    answer: webhook,
  }),
  'webhook.test': route({
    method: 'POST',
    path: '/webhooks/{id}/test',
    summary: 'Deliver one test event now',
    role: 'admin',
    answer: webhook,
  }),

  'audit.export': route({
    method: 'GET',
    path: '/audit/export',
    summary:
      'The journal as lines, part by part; or from a time on, or from where another export ended',
    role: 'admin',
    query: z.object({
      since: z.iso.datetime({ offset: true }).optional(),
      next: auditNext.optional(),
      resume: auditResume.optional(),
    }),
    answer: auditPart,
  }),
  'audit.executions': route({
    method: 'POST',
    path: '/audit/executions',
    summary: 'What the rows of executions say, to be compared with the journal',
    role: 'admin',
    body: z.strictObject({ ids: z.array(z.string()).max(500) }),
    answer: list(auditedExecution),
  }),

  'pause.set': route({
    method: 'POST',
    path: '/pause',
    summary: 'No barrier passes (or no write)',
    role: 'admin',
    body: z.strictObject({ writes: z.boolean().default(false), note: z.string().min(1).max(500) }),
    answer: status,
  }),
  'pause.clear': route({
    method: 'POST',
    path: '/resume',
    summary: 'Go on',
    role: 'admin',
    answer: status,
  }),
  'denySet.show': route({
    method: 'GET',
    path: '/deny-set',
    summary: 'What guests must never reach by themselves',
    role: 'member',
    answer: denySetState,
  }),
  'denySet.edit': route({
    method: 'POST',
    path: '/deny-set',
    summary: 'Add to it, or take back what was added',
    role: 'admin',
    body: denyEdit,
    answer: denySetState,
  }),
  'setting.list': route({
    method: 'GET',
    path: '/settings',
    summary: 'Settings',
    role: 'admin',
    answer: list(setting),
  }),
  'setting.set': route({
    method: 'POST',
    path: '/settings/{name}',
    summary: 'Set',
    role: 'admin',
    body: z.strictObject({ value: json }),
    answer: setting,
  }),
  'setting.unset': route({
    method: 'DELETE',
    path: '/settings/{name}',
    summary: 'Back to the default',
    role: 'admin',
    answer: setting,
  }),
} as const satisfies Record<string, Route>

export type RouteName = keyof typeof routes
export type RequestBody<N extends RouteName> = (typeof routes)[N] extends {
  body: infer B extends z.ZodType
}
  ? z.input<B>
  : undefined
export type ParsedBody<N extends RouteName> = (typeof routes)[N] extends {
  body: infer B extends z.ZodType
}
  ? z.output<B>
  : undefined
export type ParsedQuery<N extends RouteName> = (typeof routes)[N] extends {
  query: infer Q extends z.ZodType
}
  ? z.output<Q>
  : undefined
export type Answer<N extends RouteName> = z.output<(typeof routes)[N]['answer']>

/** Body of every answer that is not a success. */
export const errorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    who: z.string(),
    retry: z.boolean(),
    field: z.string().optional(),
  }),
})
