/** Catalog revisions, their tools, and the difference to what the upstream lists. */
import { z } from 'zod'
import { digest, id, json, time } from './parts.ts'

export const catalogStates = [
  'discovered',
  'in_review',
  'published',
  'superseded',
  'withdrawn',
  'discarded',
] as const
export const accesses = ['read', 'write'] as const

export const catalogTool = z.object({
  id: z.string().describe('the upstream name'),
  state: z.enum(['include', 'exclude']),
  name: z.string(),
  exposedName: z.string(),
  title: z.string().nullable(),
  description: z.string().nullable(),
  inputSchema: json,
  outputSchema: json.nullable(),
  annotations: json.nullable(),
  digest,
  access: z.enum(accesses),
  note: z.string().nullable(),
  flags: z.array(z.object({ kind: z.string(), where: z.string(), text: z.string() })),
  refusedBecause: z.string().nullable().describe('why it cannot be included'),
})

export const catalog = z.object({
  id: id('cat'),
  state: z.enum(catalogStates),
  connection: z.string(),
  connectionRevision: z.int(),
  number: z.int().nullable(),
  version: z.int(),
  era: z.enum(['modern', 'legacy']),
  protocolVersion: z.string(),
  serverInfo: json.nullable(),
  digest,
  discoveredAt: time,
  publishedAt: time.nullable(),
  tools: z.array(catalogTool),
})

export const catalogDiff = z.object({
  against: z.int().nullable().describe('number of the published revision'),
  same: z.boolean(),
  added: z.array(z.string()),
  removed: z.array(z.string()),
  renamed: z.array(z.object({ from: z.string(), to: z.string() })),
  changed: z.array(
    z.object({
      name: z.string(),
      what: z.array(z.enum(['title', 'description', 'inputSchema', 'outputSchema', 'annotations'])),
    }),
  ),
})
