import { expect, test } from 'vitest'
import { errors, isErrorCode, SallyportError, toSallyportError } from './errors.ts'

/** Codes, HTTP statuses and JSON-RPC codes that callers rely on. Adding is fine, changing one of these is not. */
const pinned: Record<string, readonly [http: number, rpc: number, retry: boolean]> = {
  bad_request: [400, -32602, false],
  not_authenticated: [401, -32001, false],
  not_allowed: [403, -32001, false],
  not_found: [404, -32602, false],
  conflict: [409, -32603, true],
  name_taken: [409, -32603, false],
  too_large: [413, -32600, false],
  too_many: [429, -32000, true],
  internal: [500, -32603, false],
  wrong_release: [409, -32603, false],
  gateway_unreachable: [503, -32000, true],
  wrong_shim: [409, -32600, false],
  bad_record: [422, -32600, false],
  stale_record: [409, -32000, true],
  bad_guest_path: [400, -32602, false],
  data_in_use: [409, -32603, false],
  data_key_mismatch: [409, -32603, false],
  store_unavailable: [503, -32603, true],
  schema_too_new: [503, -32603, false],
  migration_changed: [503, -32603, false],
  row_unreadable: [500, -32603, false],
  no_isolation: [501, -32603, false],
  worker_not_isolated: [500, -32603, false],
  sandbox_failed: [500, -32603, false],
  evidence_mismatch: [409, -32603, false],
  session_not_ended: [409, -32603, true],
  not_the_owner: [409, -32603, false],
  deny_set_pending: [503, -32603, true],
  deny_set_unconfirmed: [409, -32603, true],
  deny_set_mismatch: [409, -32602, true],
  not_gone: [500, -32603, true],
  workspace_refused: [400, -32602, false],
  environment_refused: [400, -32602, false],
  bad_model_url: [400, -32602, false],
  bad_host_rule: [400, -32602, false],
  model_key_missing: [409, -32602, false],
  model_key_exposed: [409, -32602, false],
  model_refused: [403, -32001, false],
  model_unreachable: [502, -32000, true],
  host_denied: [403, -32001, false],
  host_unreachable: [502, -32000, true],
  not_separated: [409, -32603, false],
  harness_missing: [404, -32602, false],
  harness_too_old: [409, -32603, false],
  harness_unusable: [409, -32603, false],
  agent_broken: [502, -32603, false],
  agent_refused: [502, -32603, false],
  not_enforceable: [409, -32603, false],
  shim_unreadable: [500, -32603, false],
  literal_secret: [400, -32602, false],
  journal_damaged: [500, -32603, false],
  worker_down: [503, -32603, true],
  worker_not_started: [500, -32603, false],
  bad_url: [400, -32602, false],
  bad_name: [400, -32602, false],
  bad_secret: [400, -32602, false],
  bad_header: [400, -32602, false],
  plaintext_refused: [400, -32602, false],
  seal_unreadable: [422, -32603, false],
  seal_mismatch: [422, -32603, false],
  seal_truncated: [422, -32603, false],
  seal_other_row: [422, -32603, false],
  seal_other_column: [422, -32603, false],
  seal_other_scope: [422, -32603, false],
  seal_other_version: [422, -32603, false],
  seal_key_retired: [422, -32603, false],
  seal_key_unknown: [422, -32603, false],
  vault_key_unusable: [500, -32603, false],
  vault_key_fixed: [409, -32603, false],
  destination_refused: [422, -32603, false],
  credential_expired: [409, -32603, true],
  account_changed: [409, -32603, false],
  oauth_not_offered: [422, -32603, false],
  oauth_metadata_invalid: [502, -32603, false],
  oauth_resource_mismatch: [502, -32603, false],
  oauth_issuer_mismatch: [502, -32603, false],
  oauth_issuer_changed: [409, -32603, false],
  oauth_server_changed: [409, -32603, false],
  oauth_no_pkce: [502, -32603, false],
  oauth_no_registration: [422, -32603, false],
  oauth_registration_refused: [502, -32603, false],
  oauth_client_mismatch: [422, -32603, false],
  oauth_flow_over: [409, -32603, false],
  oauth_iss_mismatch: [409, -32603, false],
  oauth_denied: [403, -32603, false],
  oauth_invalid_grant: [409, -32603, false],
  oauth_invalid_client: [409, -32603, false],
  oauth_refused: [502, -32603, false],
  oauth_unavailable: [503, -32603, true],
  oauth_protocol: [502, -32603, true],
  oauth_scope_widened: [409, -32603, false],
  oauth_identity_invalid: [502, -32603, false],
  oauth_token_unusable: [502, -32603, false],
  oauth_not_refreshable: [409, -32603, false],
  bad_schema: [422, -32602, false],
  fixed_argument: [422, -32602, false],
  arguments_not_exact: [422, -32602, false],
  arguments_too_large: [413, -32602, false],
  arguments_refused: [422, -32602, false],
  approval_denied: [403, -32603, false],
  approval_expired: [408, -32603, true],
  approval_settled: [409, -32603, false],
  too_many_approvals: [429, -32000, true],
  tool_outcome_unknown: [409, -32603, false],
  answered_by_earlier: [409, -32603, false],
  resolved_applied: [409, -32603, false],
  resolved_not_applied: [409, -32603, true],
  resolved_abandoned: [409, -32603, false],
  not_unknown: [409, -32603, false],
  already_collected: [409, -32603, false],
  paused: [503, -32603, true],
  rate_limited: [429, -32000, true],
  tool_changed: [409, -32603, false],
  catalog_unverified: [503, -32603, true],
  not_sent: [502, -32603, true],
  credential_in_result: [502, -32603, false],
  upstream_scope_missing: [502, -32603, false],
  result_too_large: [502, -32603, false],
  webhook_refused: [502, -32603, false],
  outcome_unknown: [502, -32603, false],
  outcome_lost: [502, -32603, true],
  starting: [503, -32603, true],
  shutting_down: [503, -32603, true],
}

test.each(Object.entries(pinned))('%s keeps its numbers', (code, [http, rpc, retry]) => {
  expect(errors[code as keyof typeof errors]).toMatchObject({ http, rpc, retry })
})

test.each(Object.entries(errors))('%s is a whole entry', (code, entry) => {
  expect(code).toMatch(/^[a-z0-9]+(?:_[a-z0-9]+)*$/)
  expect(entry.text).toMatch(/^[A-Z].*\.$/)
  expect(entry.text.length).toBeLessThan(200)
  expect(entry.http).toBeGreaterThanOrEqual(400)
  expect(['guest', 'owner', 'administrator', 'operator', 'nobody']).toContain(entry.who)
})

test('only codes of the table are codes', () => {
  expect(isErrorCode('conflict')).toBe(true)
  for (const text of ['toString', '__proto__', 'constructor', '', 'CONFLICT', 7, null])
    expect(isErrorCode(text)).toBe(false)
})

test('an error tells the static sentence and the field, and keeps its cause to itself', () => {
  const cause = new Error('password=hunter2')
  const error = new SallyportError('bad_url', { field: 'url', cause })
  expect(error).toMatchObject({ name: 'SallyportError', code: 'bad_url', field: 'url', cause })
  expect(error.message).toBe(errors.bad_url.text)
  expect(JSON.stringify(error)).not.toContain('hunter2')
})

test('whatever was thrown becomes an error with a code', () => {
  const known = new SallyportError('conflict')
  expect(toSallyportError(known)).toBe(known)
  for (const thrown of [new Error('secret'), 'secret', undefined, null, { code: 'conflict' }]) {
    const error = toSallyportError(thrown)
    expect(error.code).toBe('internal')
    expect(error.message).not.toContain('secret')
  }
})
