/** Profiles and grants. */
import { z } from 'zod'
import { digest, id, json, time, toolPattern } from './parts.ts'

export const modes = ['read', 'write_with_approval', 'write_unattended'] as const
export const isolationClasses = ['external', 'bubblewrap', 'microvm', 'none'] as const

export const profileSettings = z.object({
  interactive: z.boolean().default(true),
  isolation: z.array(z.enum(isolationClasses)).default(['external']),
  actors: z
    .array(
      z
        .string()
        .regex(/^(?:role:(?:member|approver|admin)|[a-z0-9](?:[a-z0-9._@-]{0,62}[a-z0-9])?)$/),
    )
    .default(['role:member'])
    .describe('who may start sessions: user names, or role:R for that role and those above'),
  harnesses: z.array(z.string()).default([]).describe('empty = any'),
  approvalTtlSeconds: z.int().min(10).max(604_800).default(3600),
  holdSeconds: z.int().min(0).max(3600).default(300),
  retainDays: z.int().min(0).max(3650).default(30),
  keepReads: z.boolean().default(false).describe('arguments and results of reads are kept too'),
  maxAgeSeconds: z.int().min(60).max(2_592_000).default(43_200),
  idleSeconds: z.int().min(60).max(2_592_000).default(7200),
  verifyWithinSeconds: z.int().min(0).max(3600).default(300),
  personal: z.enum(['none', 'read', 'write_with_approval']).default('none'),
  sandboxPolicy: z.string().nullable().default(null),
})
export type ProfileSettings = z.infer<typeof profileSettings>

export const grantLimits = z.object({
  schema: json.optional().describe('JSON Schema 2020-12 overlay'),
  fixed: z.record(z.string(), json).optional().describe('top-level arguments set by the grant'),
  rate: z.strictObject({ count: z.int().positive(), seconds: z.int().positive() }).optional(),
  approvers: z
    .string()
    .regex(/^(?:owner|two|role:(?:member|approver|admin))$/)
    .optional()
    .describe('who decides: the session owner (default), two people, or role:R and those above'),
  excludeRequester: z.boolean().optional().describe('the session owner may not approve'),
  identicalOnly: z
    .boolean()
    .optional()
    .describe('an unknown outcome of the tool holds up identical calls only'),
  resultBytes: z.int().positive().optional(),
  isolation: z
    .array(z.enum(isolationClasses))
    .min(1)
    .optional()
    .describe('only in sessions of these classes; without it, writes in all but none'),
})
export type GrantLimits = z.infer<typeof grantLimits>

export const grant = z.object({
  id: id('gra'),
  state: z.enum(['active', 'revoked']),
  profileId: id('pro'),
  connectionId: id('con'),
  connection: z.string(),
  tool: z.string(),
  mode: z.enum(modes),
  limits: grantLimits,
  digest,
  ownerId: id('usr').nullable().describe('set for a grant of a personal connection'),
  createdAt: time,
})

export const profile = z.object({
  id: id('pro'),
  name: z.string(),
  state: z.enum(['active', 'deleted']),
  settings: profileSettings,
  grants: z.array(grant),
  createdAt: time,
})

export const grantCreate = z.strictObject({
  connection: z.string().describe('name or id'),
  tools: toolPattern.describe('glob over upstream names, expanded once'),
  mode: z.enum(modes),
  // What is not known would be a limit that nobody keeps.
  limits: grantLimits.strict().default({}),
  confirmUnattended: z
    .boolean()
    .default(false)
    .describe('needed for write_unattended: agents act, and nobody is asked'),
})
