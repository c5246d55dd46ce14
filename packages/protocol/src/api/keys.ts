/** The keys of the vault: which of them seals, and how many secrets still need each. */
import { z } from 'zod'
import { time } from './parts.ts'

export const vaultSources = ['file', 'descriptor', 'command'] as const
export type VaultSource = (typeof vaultSources)[number]

export const vaultKeyStates = ['sealing', 'open', 'retired', 'missing'] as const

const key = z.object({
  id: z.string().describe('the kid: RFC 7638 thumbprint'),
  state: z
    .enum(vaultKeyStates)
    .describe('missing: secrets are sealed to it, and this worker does not have it'),
  fingerprint: z.string(),
  madeAt: time.nullable().describe('as far as its source tells'),
  retiredAt: time.nullable(),
  seals: z.int().describe('how many secrets are sealed to it'),
})

export const vaultKeys = z.object({
  source: z.enum(vaultSources).describe('where the worker has them from'),
  items: z.array(key).describe('newest first'),
  rotation: z.object({
    state: z
      .enum(['done', 'running', 'stuck'])
      .describe('running: secrets are being sealed to the newest key; stuck: some do not open'),
    left: z.int().describe('secrets that are sealed to an older key that is still held'),
    stuck: z
      .array(
        z.object({
          kind: z.string(),
          id: z.string(),
          name: z.string().nullable().describe('of the connection or webhook'),
          code: z.string(),
        }),
      )
      .describe('some of those that could not be sealed again, and why'),
  }),
})
