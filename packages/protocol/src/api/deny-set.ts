/** The deny set: what guests must never reach by themselves, and who says that they are kept from it. */
import { z } from 'zod'
import { digest, time } from './parts.ts'

export const denyEntry = z.object({
  host: z.string().describe('a name, *.name (every name under it), an address or a network'),
  port: z.int().nullable().describe('null: every port'),
})

/** One set, as somebody confirms it. */
export const denyWord = z.strictObject({ revision: z.int().min(0), digest })

export const denySet = z.object({
  revision: z.int().describe('counts up; 0 before there was one'),
  digest: digest.describe('over revision and entries'),
  entries: z.array(denyEntry),
})

export const denySetState = denySet.extend({
  inForce: z.int().describe('the revision that everybody has confirmed'),
  pending: z.array(denyEntry).describe('those of the entries that are not in force yet'),
  operator: z.array(denyEntry).describe('those of the entries that the operator added'),
})

export const denyEdit = z
  .strictObject({
    add: z.array(z.string().max(300)).max(100).default([]),
    remove: z.array(z.string().max(300)).max(100).default([]),
  })
  .describe('name, *.name, address or network, each with :PORT or without')

/** How far a session is kept from it. */
export const sessionDenial = z.object({
  revision: z.int().describe('what it is denied now'),
  confirmed: z.int().nullable().describe('what was said to be enforced in it'),
  confirmedAt: time.nullable(),
  directAccess: z
    .enum(['denied', 'not_denied'])
    .describe('not_denied: nobody keeps the guest from what is in force'),
})
