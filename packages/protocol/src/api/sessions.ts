/** Sessions. */
import { z } from 'zod'
import { bornProcess, sandboxEvidence } from '../sandbox/evidence.ts'
import { carriedReach, sandboxPlan } from '../sandbox/plan.ts'
import { denySet, denyWord, sessionDenial } from './deny-set.ts'
import { digest, id, time } from './parts.ts'
import { isolationClasses, modes } from './profiles.ts'

export const sessionStates = ['created', 'verifying', 'open', 'closing', 'ended'] as const

const unavailable = z.object({
  connection: z.string(),
  tool: z.string().nullable(),
  code: z.string(),
  reason: z.string(),
})

export const session = z.object({
  id: id('ses'),
  state: z.enum(sessionStates),
  profile: z.string(),
  owner: z.string(),
  isolation: z.enum(isolationClasses),
  label: z.string().nullable(),
  continues: id('ses').nullable(),
  createdAt: time,
  expiresAt: time,
  endedAt: time.nullable(),
  endReason: z.string().nullable(),
  endpoint: z.string(),
  connections: z.array(z.object({ name: z.string(), endpoint: z.string(), tools: z.int() })),
  tools: z.array(
    z.object({
      name: z.string(),
      connection: z.string(),
      tool: z.string(),
      mode: z.enum(modes),
      bindingHash: digest,
      state: z.string(),
      shown: z.boolean().describe('its guest has asked for the list and got this tool in it'),
    }),
  ),
  unavailable: z.array(unavailable),
  sandbox: z
    .object({
      plan: digest,
      evidence: digest.nullable(),
      owner: z.int().describe('process id of the launcher'),
      provedAt: time.nullable().describe('when the evidence was last found to match'),
      seenAt: time.describe('when the launcher was last heard of'),
      nesting: z.boolean().describe('the guest may make a sandbox of its own within'),
      reach: carriedReach
        .nullable()
        .describe('what of the network the launcher carries for the guest; null = nothing'),
    })
    .nullable()
    .describe('what the launcher planned and showed; null for class external'),
  denySet: sessionDenial.nullable().describe('null for sessions of before there was one'),
})

/** Who opens a session of another class than `external`: the process that makes its sandbox. */
const ownerKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

export const sessionCreate = z.strictObject({
  profile: z.string(),
  isolation: z.enum(isolationClasses).default('external'),
  label: z.string().max(200).optional(),
  owner: z.string().optional().describe('a user name; administrators only, default the caller'),
  harness: z.string().optional(),
  continues: id('ses').optional().describe('an ended session of the same owner and profile'),
  sandbox: z
    .strictObject({ plan: sandboxPlan, owner: bornProcess })
    .optional()
    .describe('for the classes that a launcher opens: what it is about to make, and its process'),
  denySet: denyWord
    .optional()
    .describe(
      'for class external: the newest set, which the caller says is enforced in the sandbox',
    ),
  socket: z
    .string()
    .max(1_000)
    .optional()
    .describe(
      'path of a Unix socket on the machine of the gateway, made for this guest alone (0600) and removed at the end; administrators only',
    ),
  relay: z
    .string()
    .max(1_000)
    .optional()
    .describe(
      'a folder there for a guest that has only files, made (0700) and removed at the end; administrators only',
    ),
})

export const sessionEvidence = z.strictObject({
  ownerKey,
  evidence: sandboxEvidence,
  denySet: denyWord.optional().describe('what is enforced in the sandbox'),
})

export const sessionConfirmDenySet = denyWord.extend({
  ownerKey: ownerKey.optional().describe('for the sandbox of a launcher'),
})

export const sessionHeartbeat = z.strictObject({ ownerKey })

/** `prove`: this gateway has not seen the sandbox for too long, and wants evidence again. */
export const sessionHeard = z.object({
  id: id('ses'),
  state: z.enum(sessionStates),
  endReason: z.string().nullable(),
  prove: z.boolean(),
  denySet: z.int().describe('the revision it is denied now: confirm it within 30 seconds'),
})

/** What only the launcher can know. */
export const endReasons = [
  'guest_ended',
  'guest_killed',
  'sandbox_failed',
  'evidence_mismatch',
  'launcher_stopped',
] as const

export const sessionEnd = z
  .strictObject({ ownerKey: ownerKey.optional(), reason: z.enum(endReasons).optional() })
  .refine(({ reason, ownerKey: key }) => reason === undefined || key !== undefined, {
    path: ['ownerKey'],
  })
  .default({})

export const sessionCreated = z.object({
  id: id('ses'),
  state: z.enum(sessionStates),
  endpoint: z.string(),
  token: z.string().describe('shown once'),
  ownerKey: z.string().optional().describe('for the launcher alone, shown once'),
  socket: z.string().optional(),
  relay: z.string().optional(),
  connections: z.array(z.object({ name: z.string(), endpoint: z.string(), tools: z.int() })),
  unavailable: z.array(unavailable),
  denySet: denySet.describe('what its guest must not reach by itself'),
})
