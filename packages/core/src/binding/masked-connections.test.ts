import type { ConnectionId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import type { Connection, ConnectionState, Scope } from '../connection/connection.ts'
import { maskedConnections } from './masked-connections.ts'

function connection(id: string, scope: string, state: ConnectionState = 'enabled'): Connection {
  return {
    id: id as ConnectionId,
    name: 'github',
    scope: scope as Scope,
    ownerId: null,
    transport: 'http',
    state,
    revision: 1,
    version: 1,
    required: false,
    limits: { callMs: 1000, resultBytes: 1024 },
    endpointSeal: null,
    endpointClear: null,
    credentialId: null,
    publishedId: null,
    everEnabled: state === 'enabled' || state === 'disabled',
    health: { state: 'unknown', code: null, at: null },
    createdAt: 0,
    updatedAt: 0,
  }
}

const org = connection('con_o', 'org')
const project = connection('con_p', 'project:web')
const personal = connection('con_m', 'personal:usr_1')

test('the organization masks a project, a project masks a person', () => {
  expect(maskedConnections([personal, project, org], [])).toEqual(new Set(['con_p', 'con_m']))
  expect(maskedConnections([personal, project], [])).toEqual(new Set(['con_m']))
  expect(maskedConnections([personal], [])).toEqual(new Set())
})

test('a connection of the organization masks without being granted, also while it is disabled', () => {
  expect(maskedConnections([personal], [org])).toEqual(new Set(['con_m']))
  expect(maskedConnections([personal], [connection('con_o', 'org', 'disabled')])).toEqual(
    new Set(['con_m']),
  )
})

test('what was never enabled, or is deleted, masks nothing', () => {
  const deleted = { ...org, state: 'deleted' as const }
  expect(maskedConnections([personal], [connection('con_o', 'org', 'ready')])).toEqual(new Set())
  expect(maskedConnections([personal], [deleted])).toEqual(new Set())
})

test('another name is left alone', () => {
  expect(maskedConnections([{ ...personal, name: 'jira' }], [org])).toEqual(new Set())
})

test('of two projects with one name the first by name keeps it', () => {
  const other = connection('con_a', 'project:app')
  expect(maskedConnections([project, other], [])).toEqual(new Set(['con_p']))
})
