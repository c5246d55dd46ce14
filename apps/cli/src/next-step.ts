/** The sentence after an error: which command goes on from here. */
import type { ErrorCode } from '@sallyport/protocol'

const unauthorized =
  'Sign in again with "sallyport connection authorize NAME", or give another secret with "sallyport connection edit NAME".'

const steps: Partial<Record<ErrorCode, string>> = {
  not_authenticated:
    'Set SALLYPORT_TOKEN_FILE, or run this as the user and with the data folder of "sallyport up".',
  not_allowed: 'See who you are with "sallyport status".',
  conflict: 'Run the command again.',
  name_taken: 'Choose another name.',
  connection_limit: 'Remove one with "sallyport connection remove NAME".',
  not_published: 'Begin with "sallyport catalog discover NAME".',
  nothing_to_publish: 'Decide with "sallyport catalog review NAME --include GLOB".',
  approval_settled: 'See what became of it with "sallyport approvals show ID".',
  session_not_ended:
    'See its state with "sallyport session list"; one whose sandbox is gone can be ended with "sallyport session end ID".',
  not_unknown: 'See what became of it with "sallyport executions show ID".',
  no_such_tool: 'See the published tools with "sallyport catalog show NAME".',
  mode_mismatch: 'See how the tools were reviewed with "sallyport catalog show NAME".',
  worker_down: 'See "sallyport doctor".',
  webhook_refused: 'See what its receiver says, and "sallyport webhook list".',
  wrong_release: 'See "sallyport status" and "sallyport --version".',
  internal: 'See "sallyport doctor".',
  no_isolation: 'See "sallyport sandbox verify".',
  sandbox_failed: 'See "sallyport sandbox verify".',
  evidence_mismatch: 'See "sallyport sandbox verify".',
  isolation_refused: 'See what the profile accepts with "sallyport profile show NAME".',
  upstream_http_401: unauthorized,
  upstream_http_403: unauthorized,
  credential_missing: 'Give one with "sallyport connection edit NAME".',
  seal_unreadable: 'Use "sallyport connection edit NAME".',
  seal_mismatch: 'Use "sallyport connection edit NAME".',
  seal_truncated: 'Use "sallyport connection edit NAME".',
  seal_other_row: 'Use "sallyport connection edit NAME".',
  seal_other_column: 'Use "sallyport connection edit NAME".',
  seal_other_scope: 'Use "sallyport connection edit NAME".',
  seal_other_version: 'Use "sallyport connection edit NAME".',
  seal_key_retired: 'Use "sallyport connection edit NAME".',
  seal_key_unknown: 'See "sallyport keys show".',
  deny_set_pending: 'See who is waited for with "sallyport session list".',
  oauth_issuer_changed:
    'Look at who runs it, then use "sallyport connection authorize NAME --accept-issuer".',
  oauth_server_changed:
    'Look at who runs it, then use "sallyport connection authorize NAME --accept-issuer".',
  oauth_flow_over: 'Use "sallyport connection authorize NAME".',
  oauth_denied: 'Use "sallyport connection authorize NAME".',
  oauth_invalid_grant: 'Use "sallyport connection authorize NAME".',
  destination_refused: 'Use "sallyport connection edit NAME".',
}

/** Groups of commands that can list what they are about. */
const listed = new Set([
  'user',
  'token',
  'connection',
  'profile',
  'service',
  'session',
  'approvals',
  'executions',
  'webhook',
  'settings',
])

/** What a `run` names beside connections, by the field that says so. */
const named: Readonly<Record<string, string>> = { profile: 'profile', continues: 'session' }

/** `group` is the first word of the command, `field` the place in what was asked. */
export function nextStep(code: string, group: string, field?: string): string | undefined {
  if (code === 'not_found') {
    const own = listed.has(group) ? group : 'connection'
    return `See "sallyport ${named[field ?? ''] ?? own} list".`
  }
  if (code === 'bad_request' && field === 'continues')
    return 'That is no id of a session. See "sallyport session list".'
  if (code === 'file_unreadable' && field === 'workspace')
    return 'Name a folder that is there with --workspace.'
  return Object.hasOwn(steps, code) ? steps[code as ErrorCode] : undefined
}
