/**
 * The one table of error codes. Everything that refuses names a code from here; HTTP status, JSON-RPC code, who must
 * act, whether the same request may be tried again, and the public sentence all come from the table. Sentences are
 * static: no name, address or text from outside ever becomes part of them.
 */
export type ActorNeeded = 'guest' | 'owner' | 'administrator' | 'operator' | 'nobody'

export interface ErrorEntry {
  /** HTTP status at the control API (and at the guest endpoint when the error ends the HTTP exchange). */
  readonly http: number
  /** JSON-RPC code at the guest endpoint when the error is not told as a tool result. */
  readonly rpc: number
  /** Who can change it. */
  readonly who: ActorNeeded
  /** May the same request succeed later without anybody changing anything? */
  readonly retry: boolean
  /** The sentence that people and models read. */
  readonly text: string
}

const entry = (
  http: number,
  rpc: number,
  who: ActorNeeded,
  retry: boolean,
  text: string,
): ErrorEntry => ({ http, rpc, who, retry, text })

export const errors = {
  // requests
  bad_request: entry(400, -32602, 'guest', false, 'The request is not well formed.'),
  not_authenticated: entry(401, -32001, 'guest', false, 'A valid token is needed.'),
  not_allowed: entry(403, -32001, 'administrator', false, 'This is not allowed for this user.'),
  not_found: entry(404, -32602, 'guest', false, 'There is no such thing, or it is not yours.'),
  method_not_allowed: entry(405, -32600, 'guest', false, 'This address does not take that method.'),
  conflict: entry(
    409,
    -32603,
    'guest',
    true,
    'It was changed by somebody else in the meantime. Read it again and repeat.',
  ),
  name_taken: entry(409, -32603, 'guest', false, 'That name is in use.'),
  too_large: entry(413, -32600, 'guest', false, 'The request is larger than the limit.'),
  too_many: entry(429, -32000, 'guest', true, 'Too many requests. Wait and try again.'),
  internal: entry(
    500,
    -32603,
    'operator',
    false,
    'Something went wrong inside Sallyport. The log has the details.',
  ),
  wrong_release: entry(
    409,
    -32603,
    'operator',
    false,
    'The two sides run different releases of Sallyport. Install the same release on both.',
  ),

  // start and machine (operator)
  data_in_use: entry(
    409,
    -32603,
    'operator',
    false,
    'Another Sallyport is already running on this data folder.',
  ),
  data_not_writable: entry(500, -32603, 'operator', false, 'The data folder cannot be written.'),
  bad_address: entry(500, -32603, 'operator', false, 'This machine cannot listen on that address.'),
  port_taken: entry(500, -32603, 'operator', false, 'The port is taken by another program.'),
  tls_required: entry(500, -32603, 'operator', false, 'Listening beyond this machine needs TLS.'),
  wrong_node: entry(500, -32603, 'operator', false, 'Node 24 or later is needed.'),
  store_unavailable: entry(503, -32603, 'operator', true, 'The database cannot be reached.'),
  schema_too_new: entry(
    503,
    -32603,
    'operator',
    false,
    'The database was written by a later release of Sallyport.',
  ),
  migration_changed: entry(
    503,
    -32603,
    'operator',
    false,
    'A migration that was already applied is not the one in this release.',
  ),
  row_unreadable: entry(500, -32603, 'operator', false, 'A row of the database cannot be read.'),
  not_durable: entry(
    503,
    -32603,
    'operator',
    false,
    'The database cannot promise to keep what it confirms.',
  ),
  worker_down: entry(
    503,
    -32603,
    'operator',
    true,
    'The worker is not running. It is started again by itself; try again in a few seconds.',
  ),
  clock_skew: entry(
    503,
    -32603,
    'operator',
    true,
    'The clocks of gateway and worker are more than five seconds apart. Set both by the same source.',
  ),
  bad_certificate: entry(
    500,
    -32603,
    'operator',
    false,
    'A certificate or key cannot be used; the log names the file. One in the data folder may be removed: the next start makes a new one.',
  ),

  // connections
  connection_limit: entry(
    409,
    -32603,
    'owner',
    false,
    'This scope has as many connections as it may have.',
  ),
  connection_disabled: entry(409, -32603, 'administrator', false, 'The connection is disabled.'),
  not_published: entry(
    409,
    -32603,
    'administrator',
    false,
    'The connection has no published catalog. Discover, review and publish it first.',
  ),
  transport_not_available: entry(
    501,
    -32603,
    'operator',
    false,
    'This kind of connection is not available in this release.',
  ),
  bad_url: entry(
    400,
    -32602,
    'owner',
    false,
    'The URL is not acceptable: https without user, password or fragment; plain http only toward this machine, with a port, where the operator allows it.',
  ),
  bad_name: entry(
    400,
    -32602,
    'owner',
    false,
    'The name is not acceptable: 1 to 32 small letters, digits and inner hyphens; "sallyport" and "mcp" are reserved.',
  ),
  bad_secret: entry(
    400,
    -32602,
    'owner',
    false,
    'The secret is not acceptable: 1 to 8192 bytes without control characters.',
  ),
  bad_header: entry(
    400,
    -32602,
    'owner',
    false,
    'The header is not acceptable: a token of at most 64 characters that Sallyport does not set itself.',
  ),
  plaintext_refused: entry(
    400,
    -32602,
    'owner',
    false,
    'Secrets must be sealed before they are sent. A machine that cannot seal says allowPlaintext.',
  ),
  seal_unreadable: entry(
    422,
    -32603,
    'owner',
    false,
    'The sealed secret does not open here. Enter the secret again.',
  ),
  seal_mismatch: entry(
    422,
    -32603,
    'owner',
    false,
    'The sealed secret is not what is shown beside it. Enter it again.',
  ),
  destination_refused: entry(
    422,
    -32603,
    'owner',
    false,
    'The secret may not go to this destination. Enter it again for this address.',
  ),
  local_upstreams_off: entry(
    422,
    -32603,
    'operator',
    false,
    'Servers on this machine are not allowed. Start Sallyport with --allow-local-upstreams.',
  ),
  upstream_dns: entry(502, -32603, 'owner', true, 'The name of the server cannot be resolved.'),
  upstream_blocked_address: entry(
    502,
    -32603,
    'operator',
    false,
    'The server has an address that Sallyport does not connect to.',
  ),
  upstream_tls: entry(502, -32603, 'owner', false, 'The server does not show a valid certificate.'),
  upstream_timeout: entry(504, -32603, 'owner', true, 'The server does not answer in time.'),
  upstream_unreachable: entry(
    502,
    -32603,
    'owner',
    true,
    'The server refuses the connection or closes it.',
  ),
  upstream_http_401: entry(
    502,
    -32603,
    'owner',
    false,
    'The server does not accept the credential.',
  ),
  upstream_http_403: entry(
    502,
    -32603,
    'owner',
    false,
    'The server forbids this to the account of the credential.',
  ),
  upstream_http_4xx: entry(502, -32603, 'owner', false, 'The server refuses the request.'),
  upstream_http_5xx: entry(502, -32603, 'owner', true, 'The server failed.'),
  upstream_not_mcp: entry(502, -32603, 'owner', false, 'What answers there is not an MCP server.'),
  upstream_protocol: entry(
    502,
    -32603,
    'owner',
    false,
    'The server does not keep to the protocol.',
  ),
  upstream_too_large: entry(
    502,
    -32603,
    'owner',
    false,
    'The server answers with more than the limit.',
  ),
  credential_missing: entry(
    409,
    -32603,
    'owner',
    false,
    'The connection has no usable credential.',
  ),

  // catalogs, profiles, grants, sessions
  too_many_tools: entry(
    422,
    -32603,
    'owner',
    false,
    'The server offers more tools than the limit.',
  ),
  bad_schema: entry(422, -32602, 'owner', false, 'A schema cannot be enforced.'),
  nothing_to_publish: entry(
    409,
    -32603,
    'administrator',
    false,
    'There is no reviewed catalog to publish.',
  ),
  no_such_tool: entry(404, -32602, 'administrator', false, 'No tool matches.'),
  mode_mismatch: entry(
    409,
    -32603,
    'administrator',
    false,
    'The mode does not fit how the tool was reviewed.',
  ),
  fixed_argument: entry(
    422,
    -32602,
    'administrator',
    false,
    'The fixed arguments do not fit the schema of the tool.',
  ),
  isolation_refused: entry(
    409,
    -32603,
    'administrator',
    false,
    'The profile does not accept this kind of isolation.',
  ),
  required_unavailable: entry(
    409,
    -32603,
    'administrator',
    false,
    'A required connection cannot be bound.',
  ),
  session_ended: entry(409, -32603, 'owner', false, 'The session has ended.'),
  ambiguous_name: entry(
    409,
    -32602,
    'guest',
    false,
    'Several connections have that name. Say which by its id.',
  ),
  isolation_not_available: entry(
    501,
    -32603,
    'operator',
    false,
    'This kind of isolation is not available in this release.',
  ),
  tool_not_published: entry(
    409,
    -32603,
    'administrator',
    false,
    'The published catalog does not include the tool.',
  ),
  name_too_long: entry(
    409,
    -32603,
    'administrator',
    false,
    'The connection was renamed, and the name of the tool is now too long. Discover, review and publish it again.',
  ),
  masked: entry(
    409,
    -32603,
    'administrator',
    false,
    'A connection of the same name in a wider scope takes its place.',
  ),
  nobody_to_approve: entry(
    409,
    -32603,
    'administrator',
    false,
    'The tool needs the approval of a person, and in an unattended session there is none.',
  ),

  // calls: told to the model as a result with isError
  arguments_not_exact: entry(
    422,
    -32602,
    'guest',
    false,
    'The arguments cannot be passed on exactly. Write numbers that a 64-bit float can hold, well-formed text, each key once.',
  ),
  arguments_too_large: entry(
    413,
    -32602,
    'guest',
    false,
    'The arguments are larger than the limit.',
  ),
  arguments_refused: entry(
    422,
    -32602,
    'guest',
    false,
    'The arguments do not fit the schema and limits of the tool. Change them and call again.',
  ),
  call_id_reused: entry(
    409,
    -32600,
    'guest',
    false,
    'This call id was already used for another call.',
  ),
  approval_not_available: entry(
    501,
    -32603,
    'administrator',
    false,
    'This tool needs the approval of a person, which is not available in this release. Nothing was sent.',
  ),
  paused: entry(
    503,
    -32603,
    'administrator',
    true,
    'Calls are paused by an administrator. Nothing was sent.',
  ),
  rate_limited: entry(
    429,
    -32000,
    'guest',
    true,
    'This tool may not be called that often. Nothing was sent. Wait and call again.',
  ),
  session_not_open: entry(403, -32001, 'owner', false, 'The session is not open.'),
  connection_changed: entry(
    409,
    -32603,
    'owner',
    false,
    'The connection was changed since this session began. Nothing was sent. A new session can use it.',
  ),
  credential_unusable: entry(
    409,
    -32603,
    'owner',
    false,
    'The credential of the connection is not usable. Nothing was sent. Its owner must renew it.',
  ),
  catalog_withdrawn: entry(
    409,
    -32603,
    'administrator',
    false,
    'The reviewed catalog of this tool was withdrawn. Nothing was sent.',
  ),
  grant_changed: entry(
    409,
    -32603,
    'owner',
    false,
    'The permission for this tool was changed or taken back. Nothing was sent. A new session sees the new permission.',
  ),
  profile_changed: entry(
    409,
    -32603,
    'administrator',
    false,
    'The profile of this session is no longer usable. Nothing was sent.',
  ),
  authority_busy: entry(
    503,
    -32603,
    'nobody',
    true,
    'The permission of this tool is being changed right now. Nothing was sent. Call again.',
  ),
  tool_changed: entry(
    409,
    -32603,
    'administrator',
    false,
    'The server changed this tool since it was reviewed. Nothing was sent. An administrator must review it.',
  ),
  catalog_unverified: entry(
    503,
    -32603,
    'owner',
    true,
    'The server cannot be asked whether this tool is still the reviewed one. Nothing was sent.',
  ),
  not_sent: entry(502, -32603, 'nobody', true, 'The call was not sent to the server.'),
  intent_refused: entry(
    502,
    -32603,
    'operator',
    false,
    'The worker refused the order for this call. Nothing was sent.',
  ),
  expired: entry(
    504,
    -32603,
    'nobody',
    true,
    'The call waited too long before it could be sent. Nothing was sent.',
  ),
  worker_busy: entry(
    503,
    -32603,
    'nobody',
    true,
    'Too many calls are in flight. Nothing was sent. Call again.',
  ),
  upstream_unauthorized: entry(
    502,
    -32603,
    'owner',
    false,
    'The server did not accept the credential. Its owner must renew it.',
  ),
  upstream_forbidden: entry(
    502,
    -32603,
    'owner',
    false,
    'The server forbids this to the account of the credential.',
  ),
  upstream_rate_limited: entry(
    429,
    -32603,
    'nobody',
    true,
    'The server asks for fewer calls. Wait and call again.',
  ),
  upstream_session_lost: entry(
    502,
    -32603,
    'nobody',
    true,
    'The server lost its session. Call again.',
  ),
  upstream_refused: entry(502, -32603, 'owner', false, 'The server refused the request.'),
  upstream_error: entry(502, -32603, 'guest', false, 'The server answered with a protocol error.'),
  input_required: entry(
    501,
    -32603,
    'owner',
    false,
    'The server asks a question, which is not available in this release.',
  ),
  credential_in_result: entry(
    502,
    -32603,
    'administrator',
    false,
    'The answer of the server held the credential and was withheld. If it was a call, it was done: do not repeat it.',
  ),
  result_too_large: entry(
    502,
    -32603,
    'guest',
    false,
    'The call was done, but its result is larger than the limit. Do not repeat the call.',
  ),
  outcome_unknown: entry(
    502,
    -32603,
    'owner',
    false,
    'The call was sent and it is not known what became of it. Do not repeat it; its owner must find out.',
  ),
  outcome_lost: entry(
    502,
    -32603,
    'nobody',
    true,
    'The answer to this read was lost. It may be called again.',
  ),
  identical_in_flight: entry(
    409,
    -32603,
    'nobody',
    true,
    'An identical write is in flight, or its outcome is not known. Nothing was sent.',
  ),
  call_in_flight: entry(
    409,
    -32603,
    'nobody',
    true,
    'This call is still being carried out. Nothing was sent twice.',
  ),
  call_cancelled: entry(499, -32603, 'guest', false, 'The call was cancelled before it was sent.'),
  outcome_not_kept: entry(
    409,
    -32603,
    'guest',
    true,
    'This call was already answered and the answer is not kept. Call again under a new id.',
  ),
  shutting_down: entry(
    503,
    -32603,
    'nobody',
    true,
    'Sallyport is stopping. Nothing was sent. Try again in a moment.',
  ),

  // the command line, before or instead of a request
  usage: entry(400, -32602, 'guest', false, 'The command line is not understood.'),
  unreachable: entry(503, -32603, 'operator', true, 'Sallyport does not answer.'),
  file_unreadable: entry(400, -32602, 'guest', false, 'The file cannot be read.'),
  file_not_written: entry(
    400,
    -32602,
    'guest',
    false,
    'The file cannot be written; a file that exists already is never overwritten.',
  ),
  bad_file: entry(400, -32602, 'guest', false, 'The file does not hold what is needed.'),
  not_confirmed: entry(409, -32603, 'guest', false, 'This was not confirmed. Nothing was changed.'),
  journal_damaged: entry(500, -32603, 'operator', false, 'The journal is not what was recorded.'),
  problems_found: entry(500, -32603, 'operator', false, 'The checks found problems.'),
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errors

export function isErrorCode(text: unknown): text is ErrorCode {
  return typeof text === 'string' && Object.hasOwn(errors, text)
}

/** The only error class that crosses a wall. `field` names a place in the caller's own request; `cause` stays private. */
export class SallyportError extends Error {
  readonly code: ErrorCode
  readonly field: string | undefined

  constructor(code: ErrorCode, detail: { field?: string; cause?: unknown } = {}) {
    super(errors[code].text, { cause: detail.cause })
    this.name = 'SallyportError'
    this.code = code
    this.field = detail.field
  }
}

/** Fail closed: whatever was thrown becomes an error with a code; unknown things become `internal`. */
export function toSallyportError(thrown: unknown): SallyportError {
  return thrown instanceof SallyportError
    ? thrown
    : new SallyportError('internal', { cause: thrown })
}
