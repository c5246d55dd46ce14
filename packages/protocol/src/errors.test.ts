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
  data_in_use: [409, -32603, false],
  store_unavailable: [503, -32603, true],
  schema_too_new: [503, -32603, false],
  migration_changed: [503, -32603, false],
  row_unreadable: [500, -32603, false],
  journal_damaged: [500, -32603, false],
  worker_down: [503, -32603, true],
  bad_url: [400, -32602, false],
  bad_name: [400, -32602, false],
  bad_secret: [400, -32602, false],
  bad_header: [400, -32602, false],
  plaintext_refused: [400, -32602, false],
  seal_unreadable: [422, -32603, false],
  seal_mismatch: [422, -32603, false],
  destination_refused: [422, -32603, false],
  bad_schema: [422, -32602, false],
  fixed_argument: [422, -32602, false],
  arguments_not_exact: [422, -32602, false],
  arguments_too_large: [413, -32602, false],
  arguments_refused: [422, -32602, false],
  approval_not_available: [501, -32603, false],
  paused: [503, -32603, true],
  rate_limited: [429, -32000, true],
  tool_changed: [409, -32603, false],
  catalog_unverified: [503, -32603, true],
  not_sent: [502, -32603, true],
  credential_in_result: [502, -32603, false],
  result_too_large: [502, -32603, false],
  outcome_unknown: [502, -32603, false],
  outcome_lost: [502, -32603, true],
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
