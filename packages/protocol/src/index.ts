/**
 * The words every process shares: ids, the error table, names and URL rules, exact JSON, the control API, MCP's words.
 * Pure: no I/O and nothing of Node, so that a page can use it too.
 */
export * from './api/audit.ts'
export * from './api/catalogs.ts'
export * from './api/connections.ts'
export * from './api/executions.ts'
export * from './api/open-api.ts'
export * from './api/operation.ts'
export * from './api/profiles.ts'
export * from './api/routes.ts'
export * from './api/sessions.ts'
export * from './api/users.ts'
export * from './canonical.ts'
export * from './errors.ts'
export * from './escape.ts'
export * from './exact.ts'
export * from './ids.ts'
export * from './mcp.ts'
export * from './names.ts'
export * from './release.ts'
