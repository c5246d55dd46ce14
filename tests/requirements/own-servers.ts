/** BYO: connections of a person or a project. */
import { built, notApplicable, planned, type Requirement } from './requirement.ts'

const noVm =
  'entries are not sent to a machine that writes configuration: the guest gets one endpoint'
const oneServer = 'the guest endpoint has one URL per session; names come from connections'
const noEnvFile =
  'a session token is passed by reference, helper or descriptor, never by generated names'

export const ownServers: readonly Requirement[] = [
  built(
    'BYO-1',
    'a bad name is refused; one fixture of names is judged by everyone who judges names',
    'packages/protocol/src/names.test.ts › %j is not a connection name',
    'packages/core/src/connection/connections.test.ts › refuses names that break the rule, are reserved or taken in the scope; other scopes are apart',
  ),
  built(
    'BYO-2',
    'reserved names are refused when written',
    'packages/core/src/connection/connections.test.ts › refuses names that break the rule, are reserved or taken in the scope; other scopes are apart',
  ),
  notApplicable('BYO-3', 'a reserved name keeps its place', oneServer),
  notApplicable('BYO-4', 'positional names for unnamed servers', oneServer),
  built(
    'BYO-5',
    'names in one session never collide',
    'packages/store/src/contract/sessions-contract.ts › binds a name of a session once',
    'packages/core/src/session/sessions.test.ts › a tool whose name is too long under a new name of its connection is not bound',
  ),
  built(
    'BYO-6',
    'every harness gets the same names',
    'packages/launcher/src/harness/agent-programs.test.ts › has one server in all of it, of the name by which its tools are allowed',
  ),
  built(
    'BYO-7',
    'URLs are bounded in bytes and free of line breaks',
    'packages/protocol/src/names.test.ts › a URL of 2,048 bytes passes and one of 2,049 does not',
    'packages/protocol/src/names.test.ts › refuses %j as an endpoint',
  ),
  built(
    'BYO-8',
    'URLs are stored normalized, without user or fragment',
    'packages/protocol/src/names.test.ts › %s is an endpoint',
    'packages/protocol/src/names.test.ts › what parseEndpoint normalized it parses again to the same',
  ),
  built(
    'BYO-9',
    'https anywhere; http only to this machine, with a port, where allowed',
    'packages/protocol/src/names.test.ts › plain http passes only where local upstreams are allowed',
  ),
  built(
    'BYO-10',
    'whoever seals and whoever opens accept the same URLs',
    'apps/worker/src/vault/vault.test.ts › a URL the rules refuse is refused here too',
  ),
  built(
    'BYO-11',
    'of an endpoint only scheme, host and port are shown',
    'packages/protocol/src/seal-connection.test.ts › seals URL and secret to their own rows and shows only what may be shown',
  ),
  built(
    'BYO-12',
    'an error about a URL has no part of it',
    'apps/cli/src/commands/connection.test.ts › refuses with %s before anything is sent: %s',
    'apps/gateway/src/api/connections.test.ts › no URL, token or header value is in any answer, error or log line',
  ),
  built(
    'BYO-13',
    'one connection that cannot be bound does not stop a session',
    'packages/core/src/session/sessions.test.ts › what cannot be bound is listed with the reason, and stops nothing',
  ),
  built(
    'BYO-14',
    'authentication none or bearer, with defaults',
    'packages/protocol/src/seal-connection.test.ts › has no credential without token and header',
    'apps/cli/src/commands/connection.test.ts › add without a secret sends no credential',
  ),
  built(
    'BYO-15',
    'a token is 1 to 8192 bytes without control characters',
    'packages/protocol/src/names.test.ts › refuses the secret %j and names its field',
    'apps/worker/src/vault/vault.test.ts › a token of 8,192 bytes passes',
  ),
  built(
    'BYO-16',
    'switching to none forgets the token; to bearer needs one',
    'apps/cli/src/commands/connection.test.ts › edit drops a credential only when told to',
  ),
  built(
    'BYO-17',
    'an edit without a token keeps the old one',
    'packages/core/src/connection/connections.test.ts › a plain edit keeps state and revision, and raises the version',
    'apps/cli/src/commands/connection.test.ts › edit renames by compare-and-swap and touches nothing else',
  ),
  built(
    'BYO-18',
    'at most ten headers, names are tokens, unique without case',
    'packages/protocol/src/names.test.ts › takes up to ten header names',
    'packages/protocol/src/names.test.ts › refuses the header name %j',
  ),
  built(
    'BYO-19',
    'headers of the transport are refused, Authorization beside a bearer too',
    'packages/protocol/src/names.test.ts › refuses the header name %j',
    'packages/protocol/src/names.test.ts › takes Authorization only when there is no bearer beside it',
  ),
  built(
    'BYO-20',
    'an edit of headers replaces the whole set',
    'apps/cli/src/commands/connection.test.ts › edit seals a new secret as the next version of the credential, for the URL that stays',
  ),
  built(
    'BYO-21',
    'of two concurrent edits one gets a conflict',
    'packages/core/src/connection/connections.test.ts › an edit that was made from an older version is a conflict',
    'packages/store/src/contract/connections-contract.ts › lets one of many changes from one version through',
  ),
  built(
    'BYO-22',
    'names are unique per scope and owner, in the database',
    'packages/store/src/contract/connections-contract.ts › has one connection of a name in each scope',
  ),
  built(
    'BYO-23',
    'equal secrets have different ciphertexts',
    'packages/protocol/src/seal.test.ts › two seals of one secret share nothing',
  ),
  built(
    'BYO-24',
    'at most 25 connections per scope, also in a race',
    'packages/core/src/connection/connections.test.ts › a scope holds 25; removed ones do not count',
    'packages/store/src/contract/connections-contract.ts › holds the limit of a scope also when two gateways insert at once',
  ),
  built(
    'BYO-25',
    'lists are bounded',
    'packages/store/src/contract/executions-contract.ts › lists newest first by owner, session and state, as many as asked for',
  ),
  built(
    'BYO-26',
    'no answer and no log holds a URL, token or header value',
    'apps/gateway/src/api/connections.test.ts › no URL, token or header value is in any answer, error or log line',
    'tests/system/secrets.test.ts › no place holds any of the secrets',
  ),
  built(
    'BYO-27',
    'who may read and who may write a scope, with real users',
    'packages/core/src/connection/connections.test.ts › may %s add one in %s: %s',
    'apps/gateway/src/api/access.test.ts › a connection of %s: members see it, administrators change it',
  ),
  built(
    'BYO-28',
    'a connection of another scope or person is not found',
    'apps/gateway/src/api/access.test.ts › a personal connection: its owner changes it, an administrator knows of it, others find nothing',
  ),
  built(
    'BYO-29',
    'personal and other connections are listed apart',
    'apps/gateway/src/api/access.test.ts › a personal connection: its owner changes it, an administrator knows of it, others find nothing',
    'packages/store/src/contract/connections-contract.ts › lists by scope, then name',
  ),
  built(
    'BYO-30',
    'what is not valid is not stored',
    'packages/core/src/connection/connections.test.ts › a refused connection leaves no row',
  ),
  planned('BYO-31', 'guards are mutation-tested', 'later'),
  built(
    'BYO-32',
    'org masks project masks personal within one session',
    'packages/core/src/binding/masked-connections.test.ts › the organization masks a project, a project masks a person',
  ),
  built(
    'BYO-33',
    'a disabled connection is not bound, and still masks',
    'packages/core/src/binding/masked-connections.test.ts › a connection of the organization masks without being granted, also while it is disabled',
  ),
  built(
    'BYO-34',
    'a seal that does not open breaks its own connection only',
    'apps/worker/src/vault/vault.test.ts › a seal without its end is truncated, one with damage in it unreadable',
    'apps/worker/src/vault/vault.test.ts › a seal of another vault says that its key is not here, one to a retired key that it is gone',
  ),
  built(
    'BYO-35',
    'a store that fails binds nothing and is told as such',
    'packages/store/src/postgres/postgres-failures.test.ts › says when there is no server, and refuses names that are no schema',
    'packages/store/src/rows/table.test.ts › never reads a damaged rule as an empty one',
  ),
  built(
    'BYO-36',
    'a connection whose token is missing is never called without one',
    'packages/core/src/connection/connections.test.ts › another endpoint needs the credential again, whose seal names the destination',
    'apps/worker/src/upstream/upstream.test.ts › the credential is shown to the upstream: %s',
  ),
  built(
    'BYO-37',
    'our own server has its own name everywhere',
    'packages/launcher/src/harness/agent-programs.test.ts › has one server in all of it, of the name by which its tools are allowed',
  ),
  notApplicable('BYO-38', 'trial sessions', 'there is no trial'),
  notApplicable(
    'BYO-39',
    'concurrent decryption',
    'the gateway decrypts nothing; the worker opens a seal when it is used',
  ),
  built(
    'BYO-40',
    'a new session sees what was enabled in between',
    'packages/core/src/session/sessions.test.ts › opens at once on the word of its creator, with what was granted bound and hashed',
  ),
  notApplicable('BYO-41', 'fields survive three conversions', noVm),
  notApplicable('BYO-42', 'the list on a machine is replaced as a whole', noVm),
  notApplicable('BYO-43', 'new credentials win over stored ones on a machine', noVm),
  built(
    'BYO-44',
    'migrations only add',
    'packages/store/src/migrations/migration.test.ts › applies what is missing, in order',
  ),
  notApplicable(
    'BYO-45',
    'the token check of a harness concerns our endpoint only',
    'the one entry of a harness is the shim, which has no token',
  ),
  built(
    'BYO-46',
    'logs say how many, never which values',
    'tests/system/secrets.test.ts › no place holds any of the secrets',
  ),
  built(
    'BYO-47',
    'session tokens are 32 random bytes and end with the session',
    'packages/core/src/session/sessions.test.ts › opens at once on the word of its creator, with what was granted bound and hashed',
    'apps/gateway/src/mcp/wire-table.test.ts › answers 401 to the token of a session that has ended',
  ),
  built(
    'BYO-48',
    'a bad token is 401',
    'apps/gateway/src/mcp/wire-table.test.ts › answers 401 to no bearer, a wrong one, one of any length and form, with every method',
  ),
  built(
    'BYO-49',
    'a body that is not JSON is -32700',
    'apps/gateway/src/mcp/wire-table.test.ts › answers −32700 to a body that is not JSON: %s',
  ),
  built(
    'BYO-50',
    'a batch is refused',
    'apps/gateway/src/mcp/wire-table.test.ts › answers −32600 to %s and does nothing',
  ),
  built(
    'BYO-51',
    'another jsonrpc version is refused',
    'apps/gateway/src/mcp/wire-table.test.ts › answers −32600 to %s and does nothing',
  ),
  built(
    'BYO-52',
    'a notification is accepted without a body',
    'apps/gateway/src/mcp/eras.test.ts › accepts notifications with 202 and no body',
  ),
  built(
    'BYO-53',
    'too many requests are 429 with Retry-After',
    'apps/gateway/src/mcp/wire-table.test.ts › answers 429 with Retry-After to too many requests, and serves again later',
  ),
  built(
    'BYO-54',
    'an unknown tool is -32602',
    'apps/gateway/src/mcp/wire-table.test.ts › answers −32602 to a tool that is not bound, in both eras',
  ),
  built(
    'BYO-55',
    'a failure inside is told without its text',
    'apps/gateway/src/mcp/calls.test.ts › tells what went wrong inside as a code and nothing else',
  ),
  built(
    'BYO-56',
    'another method is 405 with Allow',
    'apps/gateway/src/mcp/wire-table.test.ts › answers 405 with Allow to other methods',
  ),
  built(
    'BYO-57',
    'ping is answered',
    'apps/gateway/src/mcp/eras.test.ts › ping is of the legacy eras alone, server/discover of 2026-07-28 alone',
  ),
  built(
    'BYO-58',
    'a long call can be collected later',
    'tests/call/collecting.test.ts › what waits for a person: it is held, sent once when approved, and told as an earlier one',
    'tests/call/collecting.test.ts › what is on its way, and what has ended',
  ),
  notApplicable('BYO-59', 'secrets in environment files', noEnvFile),
  notApplicable('BYO-60', 'no fallback to the command line when such a file fails', noEnvFile),
  notApplicable('BYO-61', 'generated variable names match a classifier', noEnvFile),
  notApplicable('BYO-62', 'generated variable names never collide', noEnvFile),
]
