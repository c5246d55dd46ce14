/** The sentence after an error: which command goes on from here. */
import type { ErrorCode } from '@sallyport/protocol'

const steps: Partial<Record<ErrorCode, string>> = {
  not_authenticated:
    'Set SALLYPORT_TOKEN_FILE, or run this as the user and with the data folder of "sallyport up".',
  not_allowed: 'See who you are with "sallyport status".',
  conflict: 'Run the command again.',
  name_taken: 'Choose another name.',
  connection_limit: 'Remove one with "sallyport connection remove NAME".',
  not_published: 'Begin with "sallyport catalog discover NAME".',
  nothing_to_publish: 'Decide with "sallyport catalog review NAME --include GLOB".',
  no_such_tool: 'See the published tools with "sallyport catalog show NAME".',
  mode_mismatch: 'See how the tools were reviewed with "sallyport catalog show NAME".',
  worker_down: 'See "sallyport doctor".',
  wrong_release: 'See "sallyport status" and "sallyport --version".',
  internal: 'See "sallyport doctor".',
  upstream_http_401: 'Give another secret with "sallyport connection edit NAME".',
  upstream_http_403: 'Give another secret with "sallyport connection edit NAME".',
  credential_missing: 'Give one with "sallyport connection edit NAME".',
  seal_unreadable: 'Use "sallyport connection edit NAME".',
  seal_mismatch: 'Use "sallyport connection edit NAME".',
  destination_refused: 'Use "sallyport connection edit NAME".',
}

/** Groups of commands that can list what they are about. */
const listed = new Set([
  'user',
  'token',
  'connection',
  'profile',
  'session',
  'executions',
  'settings',
])

/** `group` is the first word of the command. */
export function nextStep(code: string, group: string): string | undefined {
  if (code === 'not_found')
    return `See "sallyport ${listed.has(group) ? group : 'connection'} list".`
  return Object.hasOwn(steps, code) ? steps[code as ErrorCode] : undefined
}
