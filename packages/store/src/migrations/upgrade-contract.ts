/** Rows as an earlier release wrote them, and how they are read now. */
import type { Store } from '@sallyport/core'
import type { ExecutionId, SessionId } from '@sallyport/protocol'
import { expect } from 'vitest'
import { exampleExecution, exampleSession } from '../contract/examples.ts'

const session = 'ses_00000000000000000000000001' as SessionId
const execution = (digit: number) => `exe_0000000000000000000000000${digit}` as ExecutionId
const gateway = 'ins_00000000000000000000000001'

const insertExecution = (id: string, state: string, writeKey: string | null) => `
  INSERT INTO executions (id, session_id, owner_id, call_id, state, code, field, connection_id,
    connection_name, tool, mode, access, binding_id, binding_hash, grant_id, arguments_digest,
    digest_version, write_key, intent_id, intent_digest, gateway_instance, worker_instance,
    not_after, intent_issued_at, arrived_at, barrier_at, finished_at, result_digest, result_bytes,
    took_ms, notes, sequence)
  VALUES ('${id}', '${session}', 'usr_1', 'call ${id}', '${state}', NULL, NULL, 'con_1',
    'wiki', 'edit', 'write_unattended', 'write', 'bnd_1', 'sha256:9', 'gra_1', 'sha256:a',
    1, ${writeKey === null ? 'NULL' : `'${writeKey}'`}, 'int_1', 'sha256:b', '${gateway}', 'ins_worker',
    75, 5, 4, 5, NULL, NULL, NULL,
    1.5, '{"a":1}', 2);`

/** For a database with the migrations 1 and 2. */
export const rowsBefore003 = `
  INSERT INTO sessions (id, profile_id, owner_id, state, token_hash, isolation, label, harness,
    evidence, created_by, created_at, opened_at, expires_at, idle_ms, last_call_at, ended_at,
    end_reason, unavailable)
  VALUES ('${session}', 'pro_1', 'usr_1', 'open', 'sha256:t', 'external', NULL, 'codex',
    'null', 'usr_1', 1, 1, 9, 9, 1, NULL,
    NULL, '[]');
  ${insertExecution(execution(1), 'succeeded', 'key 1')}
  ${insertExecution(execution(2), 'unknown', 'key 2')}
  ${insertExecution(execution(3), 'dispatching', 'key 3')}
  ${insertExecution(execution(4), 'dispatching', null)}`

const added = {
  approvalId: null,
  caller: null,
  callerInstance: null,
  isModern: false,
  collectedAt: null,
  chainId: session,
  retainMs: null,
  resolution: null,
}
const left = { ...added, caller: 'detached', callerInstance: gateway }

/** Sessions continue nothing, and whoever asked for a write that is open or unknown has left. */
export async function expectRowsOf002(store: Store): Promise<void> {
  expect(await store.sessions.get(session)).toMatchObject({
    id: session,
    harness: 'codex',
    chainId: session,
    continues: null,
  })
  const rows = await store.executions.getMany([1, 2, 3, 4].map(execution))
  expect(rows).toMatchObject([
    { id: execution(1), state: 'succeeded', tookMs: 1.5, notes: { a: 1 }, sequence: 2, ...added },
    { id: execution(2), state: 'unknown', ...left },
    { id: execution(3), state: 'dispatching', ...left },
    { id: execution(4), state: 'dispatching', ...added },
  ])
  const twins = await store.executions.twins(['key 1', 'key 2', 'key 3'])
  expect(twins.map(({ id }) => id)).toEqual([execution(2), execution(3)])
  const next = exampleSession({ chainId: session, continues: session })
  const call = exampleExecution({ sessionId: next.id, chainId: session, writeKey: 'key 2' })
  const result = await store.transact(async (tx) => {
    await tx.sessions.insert(next)
    return tx.executions.insert([call])
  })
  expect(result).toEqual(['write'])
  expect(await store.sessions.get(next.id)).toEqual(next)
}
