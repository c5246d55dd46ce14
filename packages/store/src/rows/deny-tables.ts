/** Tables of the deny set, by the rows of core. */
import {
  type DenySource,
  denyKeepers,
  denySetStates,
  type SessionDenial,
  type StoredDenySet,
} from '@sallyport/core'
import { integer, list, oneOf, orNull, text } from './column.ts'
import { table } from './table.ts'

export const denySets = table<StoredDenySet>('deny_sets', {
  revision: integer(),
  digest: text(),
  entries: list(),
  state: oneOf(denySetStates),
  stagedAt: integer(),
  publishedAt: orNull(integer()),
})

export const denySources = table<DenySource>('deny_sources', {
  source: text(),
  entries: list(),
  at: integer(),
})

export const sessionDenials = table<SessionDenial>('session_denials', {
  sessionId: text(),
  keeper: oneOf(denyKeepers),
  since: integer(),
  confirmed: orNull(integer()),
  confirmedAt: orNull(integer()),
})
