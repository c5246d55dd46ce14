import { expect, test } from 'vitest'
import {
  exampleApproval,
  exampleBinding,
  exampleBody,
  exampleGrant,
  exampleProfile,
  exampleSession,
} from '../contract/examples.ts'
import { flag, integer, json, orNull, text } from './column.ts'
import { table } from './table.ts'
import { approvals, bindings, bodies, executions, grants, profiles, sessions } from './tables.ts'

const things = table<{ id: string; isOn: boolean; madeAt: number | null; data: unknown }>(
  'things',
  {
    id: text(),
    isOn: flag(),
    madeAt: orNull(integer()),
    data: json(),
  },
)

test('keeps a row as scalars in the order of its columns', () => {
  expect(things.columns).toEqual(['id', 'is_on', 'made_at', 'data'])
  expect(things.keep({ id: 'a', isOn: true, madeAt: null, data: [1] })).toEqual([
    'a',
    1,
    null,
    '[1]',
  ])
  expect(things.read(['a', 0, 5, 'null'])).toEqual({ id: 'a', isOn: false, madeAt: 5, data: null })
})

test('refuses to keep what it could not give back', () => {
  const row = { id: 'a', isOn: true, madeAt: 1, data: null }
  expect(() => things.keep({ ...row, madeAt: 2 ** 53 })).toThrow(TypeError)
  expect(() => things.keep({ ...row, data: undefined })).toThrow(TypeError)
  expect(() => things.keep({ ...row, id: undefined as unknown as string })).toThrow(TypeError)
})

test('tells damage as row_unreadable, with its place in the cause', () => {
  const damage: unknown[][] = [
    [null, 1, null, '1'],
    ['a', 2, null, '1'],
    ['a', 1, 'x', '1'],
    ['a', 1, null, '{"a":'],
    ['a', 1, null, 1],
    ['a', 1],
  ]
  for (const kept of damage) {
    expect(() => things.read(kept)).toThrow(
      expect.objectContaining({ code: 'row_unreadable' }) as Error,
    )
  }
  expect(() => things.read(['a', 2, null, '1'])).toThrow(
    expect.objectContaining({
      cause: expect.objectContaining({ message: 'things.isOn of a' }),
    }) as Error,
  )
})

test('never reads a damaged rule as an empty one', () => {
  const place = grants.columns.indexOf('limits')
  const kept = grants.keep(exampleGrant())
  expect(grants.read(kept).limits).not.toEqual({})
  for (const damaged of ['null', '[]', '3', '"x"', '{"rate":{"count":-1,"seconds":1}}'])
    expect(() => grants.read(kept.with(place, damaged))).toThrow(
      expect.objectContaining({ code: 'row_unreadable' }) as Error,
    )
})

test('gives a setting that a later release added its default', () => {
  const profile = exampleProfile()
  const { verifyWithinSeconds, ...older } = profile.settings
  const kept = profiles.keep({ ...profile, settings: older as typeof profile.settings })
  expect(profiles.read(kept).settings.verifyWithinSeconds).toBe(verifyWithinSeconds)
})

test('refuses states that this release does not know', () => {
  const kept = sessions.keep(exampleSession())
  const place = sessions.columns.indexOf('state')
  expect(sessions.read(kept).state).toBe('open')
  expect(() => sessions.read(kept.with(place, 'paused'))).toThrow(
    expect.objectContaining({ code: 'row_unreadable' }) as Error,
  )
})

/** Rows that were written before must stay readable: a change here needs a migration. */
test('keeps bindings in this form', () => {
  const given = exampleBinding({ scope: 'org' as never, credentialId: null, exposedName: 'search' })
  expect(bindings.columns.join(' ')).toBe(
    'id session_id connection_name exposed_name connection_id connection_revision scope ' +
      'credential_id catalog_id tool tool_digest grant_id grant_digest input_schema_digest ' +
      'shown_schema_digest mode access limits digest_version hash',
  )
  expect(bindings.keep(given)).toEqual([
    given.id,
    given.sessionId,
    'wiki',
    'search',
    given.connectionId,
    1,
    'org',
    null,
    given.catalogId,
    'search',
    given.toolDigest,
    given.grantId,
    given.grantDigest,
    given.inputSchemaDigest,
    given.shownSchemaDigest,
    'read',
    'read',
    '{"callMs":60000,"resultBytes":4194304,"verifyWithinMs":300000}',
    1,
    given.hash,
  ])
})

test('keeps executions in this form', () => {
  expect(executions.columns.join(' ')).toBe(
    'id session_id owner_id call_id state code field connection_id connection_name tool mode ' +
      'access binding_id binding_hash grant_id arguments_digest digest_version write_key ' +
      'approval_id intent_id intent_digest gateway_instance worker_instance not_after ' +
      'intent_issued_at arrived_at barrier_at finished_at result_digest result_bytes took_ms ' +
      'caller caller_instance is_modern collected_at chain_id retain_ms resolution notes sequence',
  )
})

test('keeps approvals and bodies in this form', () => {
  const approval = exampleApproval({ state: 'approved', excludesRequester: true, closedAt: 7 })
  const decision = { by: approval.ownerId, decision: 'approve', note: null, at: 5 } as const
  expect(approvals.columns.join(' ')).toBe(
    'id execution_id session_id owner_id call_id binding_hash arguments_digest digest_version ' +
      'state approvers excludes_requester decisions requested_at expires_at closed_at',
  )
  expect(approvals.keep({ ...approval, decisions: [decision] })).toEqual([
    approval.id,
    approval.executionId,
    approval.sessionId,
    approval.ownerId,
    approval.callId,
    approval.bindingHash,
    approval.argumentsDigest,
    1,
    'approved',
    'owner',
    1,
    `[{"by":"${approval.ownerId}","decision":"approve","note":null,"at":5}]`,
    approval.requestedAt,
    approval.expiresAt,
    7,
  ])
  const body = exampleBody({ kind: 'result', sealed: Uint8Array.of(0, 255), dueAt: 9 })
  expect(bodies.columns.join(' ')).toBe('execution_id kind sealed due_at')
  expect(bodies.keep(body)).toEqual([body.executionId, 'result', Uint8Array.of(0, 255), 9])
  for (const damaged of ['text', null, 7])
    expect(() => bodies.read(bodies.keep(body).with(2, damaged))).toThrow(
      expect.objectContaining({ code: 'row_unreadable' }) as Error,
    )
})
