/** People and their tokens. */
import { z } from 'zod'
import { id, time } from './parts.ts'

export const roles = ['admin', 'approver', 'member'] as const
export type Role = (typeof roles)[number]

export const user = z.object({
  id: id('usr'),
  name: z.string(),
  role: z.enum(roles),
  state: z.enum(['active', 'disabled']),
  createdAt: time,
})

export const apiToken = z.object({
  id: id('tok'),
  state: z.enum(['active', 'revoked', 'expired']),
  userId: id('usr'),
  user: z.string(),
  label: z.string().nullable(),
  createdAt: time,
  expiresAt: time.nullable(),
})
