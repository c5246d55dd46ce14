/** Settings, status, checks. */
import { z } from 'zod'
import { json, time } from './parts.ts'

export const setting = z.object({
  id: z.string(),
  state: z.enum(['default', 'set']),
  value: json,
  default: json,
  unit: z.string(),
  bounds: z.string(),
  who: z.string(),
  description: z.string(),
})

export const status = z.object({
  release: z.string(),
  build: z.string(),
  instance: z.string(),
  startedAt: time,
  database: z.enum(['sqlite', 'postgres', 'memory']),
  worker: z.object({
    state: z.enum(['up', 'down']),
    instance: z.string().nullable(),
    release: z.string().nullable(),
    pid: z.int().nullable(),
  }),
  paused: z
    .object({ writesOnly: z.boolean(), note: z.string(), by: z.string(), at: time })
    .nullable(),
  connections: z.int(),
  sessions: z.int(),
  dispatching: z.int(),
  pendingApprovals: z.int().describe('writes that wait for a person to decide'),
  unknown: z.int().describe('outcomes that nobody knows and nobody has resolved'),
})

/** One check of `doctor`; `who` can mend a finding by doing `next`. */
export const check = z.object({
  id: z.string(),
  state: z.enum(['ok', 'warning', 'problem']),
  text: z.string(),
  who: z.string().nullable(),
  next: z.string().nullable(),
})
