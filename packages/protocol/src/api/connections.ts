/** Connections: what is shown of one, and how one is added and edited. */
import { z } from 'zod'
import { digest, id, time } from './parts.ts'

export const transports = ['http', 'stdio', 'person'] as const
export const connectionStates = ['draft', 'ready', 'enabled', 'disabled', 'deleted'] as const

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
  auth: z.enum(['none', 'bearer', 'headers']),
  headerNames: z.array(z.string()),
  credential: z
    .object({ id: id('crd'), version: z.int(), state: z.enum(['active', 'broken', 'revoked']) })
    .nullable(),
  revision: z.int(),
  version: z.int().describe('for compare-and-swap: send it back with an edit'),
  required: z.boolean(),
  limits: connectionLimits,
  published: z.object({ catalogId: id('cat'), number: z.int() }).nullable(),
  observed: z.object({ digest, at: time, drift: z.boolean() }).nullable(),
  health: connectionHealth,
  createdAt: time,
  updatedAt: time,
})

export const connectionCreate = z.strictObject({
  id: id('con').optional().describe('chosen by the caller when it seals: the seal names it'),
  name: z.string(),
  scope: scope.default('org'),
  transport: z.enum(transports).default('http'),
  required: z.boolean().default(false),
  limits: connectionLimits.strict().partial().default({}),
  endpoint: sealedEndpoint.optional(),
  credential: sealedCredential.optional(),
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
