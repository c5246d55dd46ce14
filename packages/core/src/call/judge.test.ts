import type { ErrorCode } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import type { Authority } from '../store.ts'
import { judge, judgePause } from './judge.ts'
import { aBinding, anAuthority, aSession } from './samples.ts'

const judged = { binding: aBinding(), session: aSession() }

test('lets through what is still as it was bound', () => {
  expect(judge(judged, anAuthority())).toBeUndefined()
})

type Change = [fact: string, code: ErrorCode, change: Parameters<typeof anAuthority>[0]]

const changes: Change[] = [
  ['a session that is closing', 'session_not_open', { session: { state: 'closing' } }],
  ['a session past its age', 'session_not_open', { session: { expiresAt: 5_000 } }],
  [
    'a session idle for too long',
    'session_not_open',
    { session: { lastCallAt: 0, idleMs: 5_000 } },
  ],
  ['a disabled connection', 'connection_disabled', { connection: { state: 'disabled' } }],
  ['a deleted connection', 'connection_disabled', { connection: { state: 'deleted' } }],
  ['another revision of the connection', 'connection_changed', { connection: { revision: 2 } }],
  ['another credential', 'connection_changed', { connection: { credentialId: null } }],
  ['a broken credential', 'credential_unusable', { credential: { state: 'broken' } }],
  ['a revoked credential', 'credential_unusable', { credential: { state: 'revoked' } }],
  ['a withdrawn catalog', 'catalog_withdrawn', { catalog: { state: 'withdrawn' } }],
  ['a deleted profile', 'profile_changed', { profile: { state: 'deleted' } }],
  ['a grant taken back', 'grant_changed', { grant: { revokedAt: 1 } }],
  ['a grant with other limits', 'grant_changed', { grant: { digest: 'sha256:other' } }],
]

test.each(changes)('refuses %s', (_fact, code, change) => {
  expect(judge(judged, anAuthority(change))).toBe(code)
})

test('goes on under a superseded catalog and a newer version of the same credential', () => {
  const authority = anAuthority({ catalog: { state: 'superseded' }, credential: { version: 7 } })
  expect(judge(judged, authority)).toBeUndefined()
})

test.each(['connections', 'credentials', 'catalogs', 'profiles', 'grants', 'sessions'] as const)(
  'refuses when the row is gone from %s',
  (table) => {
    const authority: Authority = { ...anAuthority(), [table]: new Map() }
    expect(judge(judged, authority)).toBeDefined()
  },
)

test('refuses for the moment while a row it needs is locked by a change', () => {
  const authority: Authority = { ...anAuthority(), busy: new Set([judged.binding.grantId]) }
  expect(judge(judged, authority)).toBe('authority_busy')
  expect(
    judge(judged, { ...anAuthority(), busy: new Set(['gra_of_somebody_else']) }),
  ).toBeUndefined()
})

test('a pause stops everything, a pause of writes stops writes', () => {
  const paused = (writesOnly: boolean): Authority => ({
    ...anAuthority(),
    pause: { name: 'pause', value: { writesOnly, note: 'x' }, by: 'admin', at: 0 },
  })
  expect(judgePause(paused(false), 'read')).toBe('paused')
  expect(judgePause(paused(true), 'write')).toBe('paused')
  expect(judgePause(paused(true), 'read')).toBeUndefined()
  expect(judgePause(anAuthority(), 'write')).toBeUndefined()
})
