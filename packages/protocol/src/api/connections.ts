/** Connections: what is shown of one, and how one is added and edited. */
import { z } from 'zod'
import { digest, id, time } from './parts.ts'

export const transports = ['http', 'stdio', 'person'] as const
export const connectionStates = ['draft', 'ready', 'enabled', 'disabled', 'deleted'] as const

export const oauthGrants = ['authorization_code', 'client_credentials'] as const
export const oauthFlowStates = ['waiting', 'finishing', 'done', 'failed'] as const

const scope = z
  .string()
  .regex(/^(?:org|personal|project:[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?)$/)
  .describe('org, personal, or project:NAME')

const clearEndpoint = z.object({
  scheme: z.enum(['https', 'http']),
  host: z.string(),
  port: z.int(),
})
const clearCredential = z.object({ bearer: z.boolean(), headerNames: z.array(z.string()).max(10) })

/** A secret comes sealed (JWE to the worker's public key) or, with `allowPlaintext`, as text that the gateway seals. */
const sealedEndpoint = z.object({ seal: z.string().max(8192), clear: clearEndpoint })
const sealedCredential = z.object({
  id: id('crd'),
  seal: z.string().max(262_144),
  clear: clearCredential,
})
const plainCredential = z.object({
  token: z.string().optional(),
  headers: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .max(10)
    .default([]),
})

export const connectionLimits = z.object({
  callMs: z.int().min(100).max(3_600_000),
  resultBytes: z
    .int()
    .min(1024)
    .max(16 * 1024 * 1024),
})

export const connectionHealth = z.object({
  state: z.enum(['unknown', 'ok', 'unreachable', 'unauthorized', 'drift', 'seal']),
  code: z.string().nullable().describe('a code of the error table, when not ok'),
  at: time.nullable(),
})

/** What the authorization server said of the credential. */
const oauthCredential = z.object({
  issuerHost: z.string(),
  refreshable: z.boolean(),
  expiresAt: time.nullable().describe('of the access token'),
  account: z.string().nullable(),
  scopes: z.array(z.string()),
})

/** The state of a connection as a person understands it. */
export const connectionConditions = [
  'ok',
  'unknown',
  'expiring',
  'needs_sign_in',
  'revoked',
  'changed_account',
  'unreachable',
  'unauthorized',
  'drift',
  'seal',
] as const

export const oauthFlow = z.object({
  id: id('flw'),
  state: z.enum(oauthFlowStates),
  connection: z.string(),
  authorizeUrl: z
    .string()
    .nullable()
    .describe('where a browser has to go; only when it begins, and not for client credentials'),
  issuer: z.string().describe('empty where nobody signs in'),
  code: z.string().nullable().describe('a code of the error table: why it failed'),
  account: z
    .enum(['first', 'same', 'other', 'unproved'])
    .nullable()
    .describe('compared with the credential of before; open sessions go on with the same'),
  expiresAt: time,
})

export const connectionAuthorize = z.strictObject({
  acceptIssuer: z
    .literal(true)
    .optional()
    .describe('another authorization server than before, or other hosts of it, are meant'),
})

export const connection = z.object({
  id: id('con'),
  name: z.string(),
  state: z.enum(connectionStates),
  scope: z.string(),
  ownerId: id('usr').nullable(),
  transport: z.enum(transports),
  endpoint: z
    .string()
    .describe(
      'scheme, host and port; the URL is a secret. Empty for the personal connection of another',
    ),
  auth: z.enum(['none', 'bearer', 'headers', 'oauth', 'client_credentials']),
  headerNames: z.array(z.string()),
  credential: z
    .object({
      id: id('crd'),
      version: z.int(),
      state: z.enum(['active', 'broken', 'revoked']),
      oauth: oauthCredential.nullable(),
    })
    .nullable(),
  missingScopes: z
    .array(z.string())
    .describe('the server refused a call for want of these: the next sign-in asks for them'),
  revision: z.int(),
  version: z.int().describe('for compare-and-swap: send it back with an edit'),
  required: z.boolean(),
  limits: connectionLimits,
  published: z.object({ catalogId: id('cat'), number: z.int() }).nullable(),
  observed: z.object({ digest, at: time, drift: z.boolean() }).nullable(),
  health: connectionHealth,
  condition: z.enum(connectionConditions),
  createdAt: time,
  updatedAt: time,
})

export const connectionDisconnected = connection.extend({
  revocation: z
    .enum(['revoked', 'not_offered', 'failed', 'asked'])
    .nullable()
    .describe(
      'of the grant at the authorization server, which keeps nothing from being revoked here; null where there was none',
    ),
})

/** Said of every request that may bring a secret. */
export const plaintext = z
  .boolean()
  .describe('a secret came as text and was sealed here: the gateway saw it for that moment')

/** What becomes of a request that may bring secrets. */
export const connectionChanged = connection.extend({ plaintext })

export const scopeWanted = z
  .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/))
  .max(64)
  .default([])
export const sealedClient = z.strictObject({
  id: id('oac'),
  seal: z.string().max(65_536),
  issuer: z.string().max(2_048).optional(),
})
const authentication = z.discriminatedUnion('method', [
  z.strictObject({ method: z.literal('oauth'), scopeWanted, client: sealedClient.optional() }),
  z.strictObject({ method: z.literal('client_credentials'), scopeWanted, client: sealedClient }),
])

export const connectionCreate = z.strictObject({
  id: id('con').optional().describe('chosen by the caller when it seals: the seal names it'),
  name: z.string(),
  scope: scope.default('org'),
  transport: z.enum(transports).default('http'),
  required: z.boolean().default(false),
  limits: connectionLimits.strict().partial().default({}),
  endpoint: sealedEndpoint.optional(),
  credential: sealedCredential.optional(),
  authentication: authentication
    .optional()
    .describe('instead of a credential: from an authorization server'),
  service: z
    .string()
    .optional()
    .describe('a service that is offered: its URL, and how it is signed in to'),
  allowPlaintext: z.literal(true).optional(),
  url: z.string().optional().describe('with allowPlaintext only'),
  secret: plainCredential.optional().describe('with allowPlaintext only'),
})

export const connectionEdit = z.strictObject({
  version: z.int().optional(),
  name: z.string().optional(),
  required: z.boolean().optional(),
  limits: connectionLimits.strict().partial().optional(),
  endpoint: sealedEndpoint.optional(),
  credential: sealedCredential.or(z.null()).optional().describe('null removes it'),
  allowPlaintext: z.literal(true).optional(),
  url: z.string().optional(),
  secret: plainCredential.optional(),
  keepEndpoint: z
    .literal(true)
    .optional()
    .describe('with url and secret: the url stays and is only named inside the seal of the secret'),
})
